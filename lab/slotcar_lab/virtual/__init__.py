"""A controller that goes by the clock of a guest in virtual time, and who lets that time run."""

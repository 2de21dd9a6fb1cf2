"""What devices count of each reservation: read, told apart, kept and added up."""

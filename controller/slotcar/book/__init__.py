"""The book: what may be done to reservations, and what becomes of them. Decides; reads what is kept through a `Shelf`."""

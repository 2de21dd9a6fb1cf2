"""The page over a real API and database, without a browser."""

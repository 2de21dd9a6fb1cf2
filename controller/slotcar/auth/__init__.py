"""Who asks, by which token, and what each role may do."""

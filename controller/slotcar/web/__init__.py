"""The page: what happens next and where, what is free, what waits. The API's verbs, with no rules of its own."""

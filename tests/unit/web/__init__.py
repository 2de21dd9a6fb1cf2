"""The page without HTTP."""

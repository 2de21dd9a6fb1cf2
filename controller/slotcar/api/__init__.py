"""See model.py for what this room gives."""

"""What a transfer would take from where to where, which host is near which, and how good that was (D7.3 §5, §7, §10)."""

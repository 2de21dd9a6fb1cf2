"""What goes over the wire, for the client and the controller alike; the standard library alone is imported here."""

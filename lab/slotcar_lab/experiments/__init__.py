"""The papers' experiments again, on the lab's routers, configured by nothing but reservations."""

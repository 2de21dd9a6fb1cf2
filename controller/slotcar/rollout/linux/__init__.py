"""Linux routers: what is staged there, and the steps of a push over any shell that runs a command."""

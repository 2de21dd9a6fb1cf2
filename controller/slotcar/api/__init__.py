"""The HTTP API over the controller's verbs, the process that serves it, and its document."""

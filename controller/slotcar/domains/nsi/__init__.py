"""NSI CS 2.1: this domain as a provider for those who speak it, and as a requester of neighbours that do (ADR 85)."""

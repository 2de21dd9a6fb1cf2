"""Telling others: the audit log's events as signed webhooks, at least once and in order per reservation."""

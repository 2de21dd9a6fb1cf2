"""The client library without a controller."""

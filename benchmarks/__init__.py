"""Measurements beside the methods that peers use. `python -m benchmarks [NAME…] [--quick]`, or `make bench`."""

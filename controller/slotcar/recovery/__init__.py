"""Back to an earlier configuration: comparison with the devices, the archive's history, rollback."""

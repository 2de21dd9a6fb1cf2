"""What the experiments of DataGRID D7.3 share: their network, at a quarter of its rates, and runs of slots on it."""

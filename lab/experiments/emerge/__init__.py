"""What the EMERGE experiments share: their network, at a quarter of its rates, and their three stages."""

"""What the platforms of IOS's modular QoS have in common: their tree, what is owned in it, and the least change of it."""

"""What runs as root beside the namespaces, here or inside the guest. Standard library only."""

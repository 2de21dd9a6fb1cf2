"""The demo: a reservation file becomes QoS on the lab's routers for exactly its slot, measured and plotted."""

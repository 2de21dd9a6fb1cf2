"""What platforms that are configured by NETCONF have in common: XML as a value, and how a reading is asked for."""

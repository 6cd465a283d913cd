"""What bandit agents are made of: the protocol, records, and the machinery of those with levels."""

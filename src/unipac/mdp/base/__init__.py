"""What agents for MDPs are made of: the protocol, plans, records, policies."""

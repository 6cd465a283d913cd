"""How one talks to an agent for MDPs: episodes, plans, policies, traces."""

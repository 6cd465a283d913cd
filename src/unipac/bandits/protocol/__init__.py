"""How one talks to a bandit agent: decisions, rewards that come late, traces."""

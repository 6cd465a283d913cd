"""What the tabular agents share: counts, bounds over balls of laws, passes over the stages."""

"""What agents for linear MDPs are made of: regressions over levels, counted or stored, and planning."""

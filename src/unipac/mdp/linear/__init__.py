"""Agents for linear MDPs, one algorithm per file."""

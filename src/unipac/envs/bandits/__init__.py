"""Bandit instances: contexts, arms, killers."""

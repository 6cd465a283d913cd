"""Transitions between any observations, stored."""

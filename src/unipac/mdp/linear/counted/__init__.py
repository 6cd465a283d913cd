"""Transitions between finitely many states, counted."""

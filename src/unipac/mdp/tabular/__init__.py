"""Agents for finite MDPs without structure: what was seen is counted."""

"""Agents for linear mixture MDPs."""

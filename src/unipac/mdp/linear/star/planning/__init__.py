"""Plans of StarLSVI, and their bounds and certificates."""

"""Plans of StarLSVI, and what is proven of them: regressions, bounds, certificates."""

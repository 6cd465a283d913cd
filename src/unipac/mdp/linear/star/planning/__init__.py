"""Plans of StarLSVI, and what is proven of them: bounds and certificates."""

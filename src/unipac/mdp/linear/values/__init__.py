"""Bounds for V* alone, over blocks of features: UPACLSVI, MonotoneLSVI."""

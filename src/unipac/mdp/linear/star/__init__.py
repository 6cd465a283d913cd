"""StarLSVI: bounds for V* alone, for linear MDPs with any states."""

"""Optimistic value iteration over levels of ridge regressions: FLUTE, NestedFLUTE, LSVIUCB."""

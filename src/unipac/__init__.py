"""Linear bandits whose decisions provably converge, with a bound on each of them."""

__version__ = "0.1.0"

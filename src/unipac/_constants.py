"""Two numbers on which the algorithms and what is proven of them must agree."""

TIE = 1e-9
"""A squared width up to 4^-l (1 + TIE) passes the test of level l.

Unit vectors hit the width 2^-l exactly; rounding must not decide on which side they fall.
"""

NEGLIGIBLE = 1e-12
"""Actions shorter than this times the norm bound are not stored: they would open a level each."""

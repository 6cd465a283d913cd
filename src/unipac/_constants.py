"""Numbers on which the algorithms and what is proven of them must agree."""

TIE = 1e-9
"""A squared width up to 4^-l (1 + TIE) passes the test of level l.

Unit vectors hit the width 2^-l exactly; rounding must not decide on which side they fall.
"""

NEGLIGIBLE = 1e-12
"""Actions shorter than this times the norm bound are not stored: they would open a level each."""

SMALLEST_RATIO = 1e-10
"""The least λ/L² for which widths can be trusted: to 1e-6, relative, after 10^6 collinear rounds.

Measured against exact arithmetic, d = 2 to 6, the worst of 8 runs and about 20 directions each: too narrow by
7e-9 at 1e-8, 6e-7 at 1e-10, 2e-6 at 1e-11, 3e-6 at 1e-12; at 1e-20 by 1 %, at 1e-28 nothing is left of them.
The error of single rounds grows with their number: 10^7 at 1e-10 give 6e-6.
"""

LARGEST_GROWTH = 1e21
"""The most that ``times`` L²/λ may be: one step of so many equal rounds keeps widths to 1e-6, relative.

Measured likewise, the worst of 40 to 60 runs, by times/(λ/L²): 1.4e-6 at 10^18/1e-4, 1.2e-6 at 10^12/1e-10,
1.3e-6 at 10^6/1e-16, so only the quotient matters; 2.2e-7 at 10^18/1e-3 and 1.2e-7 at 10^11/1e-10. With
λ ≥ 0.005 L² no count of 64 bits reaches it.
"""

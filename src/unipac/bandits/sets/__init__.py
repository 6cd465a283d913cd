"""The sets behind certificates: one regression per block of columns, and two radii on it."""

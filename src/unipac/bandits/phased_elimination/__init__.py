"""PhasedElimination: its pseudo-code and class, and its phases."""

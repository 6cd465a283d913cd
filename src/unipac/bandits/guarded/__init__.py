"""Guarded: its pseudo-code and class, its state, its kernels."""

"""Pseudo-code as plain Python with dense solves; nothing here imports the library."""

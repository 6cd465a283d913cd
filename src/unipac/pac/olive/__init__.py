"""OLIVE: its pseudo-code and class, and episodes as samples."""

"""Searches: ask for samples until enough is known, then answer with a certificate."""

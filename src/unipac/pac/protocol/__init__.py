"""The protocol of searches: what users call, what an algorithm writes, what is handed out."""

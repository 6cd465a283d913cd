"""A durable decision service: ``unipac serve config.toml``.

An answer is sent only when everything it rests on is on the disk. One event loop applies requests in memory; one
thread commits what they wrote, in groups. After a restart, this or another machine reads the log and continues from
exactly the same state.
"""

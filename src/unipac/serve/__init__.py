"""A durable decision service: ``unipac serve config.toml``.

An answer leaves when everything it rests on is on the disk. One event loop applies requests in memory, one thread
commits what they wrote, in groups; a restart, or another machine, reads the log and goes on with the same bits.
"""

"""A reader of one replicated partition from any of its replicas (KIP-392, KIP-320).

- `session`: what to ask whom next, and what an answer means; no I/O, time is an input.
- `replicas`, `selector`: which replica to read from.
- `records`: the bytes of a fetch as records.
- `client`: the session over connections, for asyncio and for callers without a loop.
"""

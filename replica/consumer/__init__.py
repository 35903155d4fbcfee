"""A reader of one replicated partition from any of its replicas (KIP-392, KIP-320).

- `session`: decides which node to ask for what, and what an answer means. It has no I/O, and takes
  the time as an input.
- `replicas`, `selector`: choose the replica to read from.
- `fetched_records`: reads the bytes of a fetch as records.
- `connections`, `translate`: ask the nodes by Kafka's protocol.
- `client`: polls a session over connections, for asyncio and for callers without a loop.
"""

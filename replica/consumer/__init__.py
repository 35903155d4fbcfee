"""A reader of one replicated partition from any of its replicas (KIP-392, KIP-320).

- `session`: makes the requests to nodes, and takes their answers. It has no I/O, and takes the time
  as an input.
- `replicas`, `selector`: choose the replica to read from.
- `fetched_records`: reads the bytes of a fetch as records.
- `connections`, `translate`: send the requests by Kafka's protocol.
- `client`: polls a session over connections, for asyncio and for callers without a loop.
"""

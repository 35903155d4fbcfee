"""Kafka's request protocol: messages to bytes and back, framing, a server and a client.

- `schema`, `apis`: the messages of each API in each version, as data.
- `codec`: compiles that data to readers and writers. A reader either gives a message or raises a
  DataError.
- `header`, `frame`, `versions`: what all APIs share.
- `server`, `client`: connections over asyncio streams. `acceptor` listens; `limits` and `turns`:
  how much a server accepts from its clients, and whose request is next; `pool`: a connection for
  each address.
- `describe_cluster`, `describe_quorum`: the nodes of a cluster and the replicas of a quorum, each
  by one request.
- `tls`, `sasl`: authentication and encryption.

Messages are dicts with the field names of Kafka's schemas. A decoded message must not be changed,
because messages share the defaults of absent fields. The library kio has the same messages as
classes. The tests compare the codec with kio. The product doesn't use kio: its reader (0.6.5)
allocates as much memory as the length fields of a frame claim, so a stranger can abort the process
with six bytes.
"""

"""Kafka's request protocol: messages to bytes and back, framing, a server and a client.

- `schema`, `apis`: the messages of each API in each version, as data.
- `codec`: compiles that data to readers and writers. A reader is total: it gives a message or a
  DataError.
- `header`, `frame`, `versions`: what all APIs share.
- `server`, `client`: connections over asyncio streams.
- `tls`, `sasl`: who is at the other end.

Messages are dicts with the field names of Kafka's schemas. A decoded message must not be changed,
because absent fields share their defaults. kio has the same messages as classes. The tests compare
the codec with it; the product doesn't use it, because its reader (0.6.5) takes as much memory as
the length fields of a frame claim, so that six bytes from anybody abort the process.
"""

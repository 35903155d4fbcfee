"""Kafka's request protocol: messages to bytes and back, framing, a server and a client.

- `schema`, `apis`: what each API's messages look like in each version, as data.
- `codec`: that data compiled to readers and writers; a reader is total, see DataError.
- `header`, `frame`, `versions`: what all APIs share.
- `server`, `client`: over asyncio streams; `tls`, `sasl`: who is at the other end.

Messages are dicts with the field names of Kafka's schemas, not to be changed once decoded: absent
fields share their defaults. kio, which has the same messages as
classes, is the tests' second opinion and not the codec: its reader (0.6.5) takes memory by the
length fields of a frame, so that six bytes from anyone abort the process.
"""

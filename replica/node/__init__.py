"""A replica as a process: its settings, its directory, its listeners and its connections.

- `settings`: what Kafka's server.properties says about a KRaft node.
- `formatting`: what `replica format` writes.
- `driver`: the one task that steps the replica; every other task sends events to it.
- `security`: TLS and SASL of listeners and of connections, by Kafka's keys.
- `observer`: a node that records the log of another quorum.
"""

"""A replica as a process: its settings, its directory, its listeners and its connections.

To read it in order:
- `settings`: what Kafka's server.properties says about a KRaft node; `properties` reads its values,
  `listeners` its addresses.
- `formatting`: what `replica format` writes.
- `assembly` builds a node of its parts; `node` runs it. `driver`: the one task that steps the
  replica; every other task sends events to it. `threads` and `child`: work that takes too long for
  the event loop. `garbage`: keeps each garbage collection of Python short.
- Requests of others: `rpcs` has a row for each RPC; `serve` decides who may send it, and answers
  it; `authorizer` has the roles of principals; `exposure` finds listeners at which strangers may
  read; `local_processes` finds the process at the other end of a connection.
- Requests to others: `peers` (connections), `heard` (when leaders answered); `translate` translates
  between the core's messages and Kafka's.
- `security`: TLS and SASL of listeners and of connections, by Kafka's keys.
- For operators: `notice` (lines), `readiness`, `metrics` and `http_server`, `descriptors` (open
  files), `workload` (a load for tests).
- `observer`: a node that records the log of another quorum.
"""

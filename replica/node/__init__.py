"""A replica as a process: its settings, its directory, its listeners and its connections.

To read it in order
- `settings`: what Kafka's server.properties says about a KRaft node; `properties` reads its values,
  `listeners` its addresses.
- `formatting`: what `replica format` writes.
- `assembly` builds a node of its parts; `node` runs it. `driver`: the one task that steps the
  replica; every other task sends events to it. `threads` and `child`: what takes too long for the
  event loop. `garbage`: keeps Python's collector from taking long.
- Requests of others: `rpcs` has a row for each RPC; `serve` decides who may send it and answers;
  `authorizer` knows who may do what, `exposure` where strangers may read; `local_processes` whose
  process a connection is.
- Requests to others: `peers` (connections), `heard` (what is known of leaders); `translate` stands
  between the core's messages and Kafka's.
- `security`: TLS and SASL of listeners and of connections, by Kafka's keys.
- For operators: `notice` (lines), `readiness`, `metrics` and `http_server`, `descriptors` (open
  files), `workload` (a load for tests).
- `observer`: a node that records the log of another quorum.
"""

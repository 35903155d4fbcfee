"""A replica's answers to requests: a module for each family of APIs. The row of each API in
replica.node.rpcs names the functions that it uses.

- `rpc`: a row, and requests that the consensus core answers.
- `readers`, `reader_fetch`: clients that read the log (KIP-392).
- `cluster`, `configs`: requests about the nodes, and about the topic's configuration.
- `writing`: records that administrators append, and requests that a metadata log refuses.
- `controllers`: registrations of Kafka's controllers in the log.
- `callers`, `refusals`: who may send a request, and the answer to everybody else; `admission`
  checks the role that a request needs, `voters` whether a voter's request comes from that voter.
- `dispatch`: finds the row of a request, and answers it or has it forwarded by `forwarding`.
- `partition`: the one partition, as clients see it; `shape`: arrays of topics and partitions.
"""

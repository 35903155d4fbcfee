"""What a replica answers on the wire: a module for each family of APIs. The row of each API in
replica.node.rpcs names the functions that it takes from here.

- `rpc`: a row, and requests that the consensus core answers.
- `readers`, `reader_fetch`: clients that read the log (KIP-392).
- `cluster`, `configs`: the nodes, and the topic's configuration.
- `writing`: what administrators append, and which requests a metadata log refuses.
- `controllers`: registrations of Kafka's controllers in the log.
- `callers`, `refusals`: who may send a request, and the answer to everybody else.
- `dispatch`: from a request to its row, or to the leader.
"""

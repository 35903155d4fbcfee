"""What a replica answers on the wire, a module for each family of APIs. replica.node.rpcs has a row
for every API, which names what it takes from here.

- `quorum`: requests that the consensus core answers.
- `readers`, `reader_fetch`: ordinary clients that read the log (KIP-392).
- `cluster`, `configs`: the nodes, and how the topic is configured.
- `writing`: what administrators append, and what a metadata log refuses. `controllers`:
  registrations of Kafka's controllers in the log.
- `callers`, `refusals`: who may send a request, and what everybody else is answered.
- `dispatch`: from a request to its row, and to the leader.
"""

"""What a replica answers on the wire, an API family a module.

- `quorum`: what goes to the consensus core. `readers`: ordinary clients reading the log (KIP-392).
- `cluster`: who is there. `writing`: appends by administrators, and what a metadata log refuses.
  `controllers`: registrations of Kafka's controllers in the log.
- `shape`: topics and partitions of requests; `dispatch`: which function, and who may.
"""

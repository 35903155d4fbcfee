"""Between the core's messages and Kafka's requests and responses: the only folder of replica.node
that knows which version of a request says what. Pure functions.

A module for each family of APIs: `votes`, `fetches`, `membership`, `describing`, `draft`, and
`clients` for what ordinary clients ask. replica.node.rpcs names the functions that belong to an
API. On the wire the topics and partitions of a request are arrays, of which a quorum uses one
entry: `partition`.
"""

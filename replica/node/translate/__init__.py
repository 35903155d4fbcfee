"""Between the core's messages and Kafka's requests and responses: the only place that knows which
version says what. Pure functions; one module for each family of APIs, `table` names them all.

What belongs to a topic stands in arrays on the wire, of which a quorum uses one entry: `partition`.
"""

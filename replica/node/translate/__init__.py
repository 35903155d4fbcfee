"""Translates between the core's messages and Kafka's requests and responses. Only this folder of
replica.node knows what each version of a request can say. All functions are pure.

There is a module for each family of APIs: `votes`, `fetches`, `membership`, `describing`, `draft`,
and `clients` for ordinary clients. replica.node.rpcs names the translation of each API. Most
translations are made of the parts in `translation`. In Kafka's protocol, a request has arrays of
topics and partitions. A quorum's request names one topic with one partition (`partition`).
"""

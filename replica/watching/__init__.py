"""A running quorum watched through an observer of it: its records, its leader and its health.

    watch = Watch(node, controllers, client, broker_defaults)
    node.collectors.append(watch.metrics)
    await watch.run()

committed   the committed records, replayed in slices as they come in, and counted by type
judged      the rules of health over the replayed state, every few seconds at most
described   what the leader tells of the quorum, and of its newest snapshot
metrics     all of it as Prometheus has it
watch       the tasks that keep it up to date beside a node

Nothing here waits when somebody asks: an answer is what was known last, and how old that is.
"""

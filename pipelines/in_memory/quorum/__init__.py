"""The tables about the quorum itself: a module for each table, named as in pipelines.gold.quorum.

- `views`: all tables in their order; `stated_voters`: what voter_beliefs and replica_status share.
"""

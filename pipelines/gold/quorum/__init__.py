"""The quorum itself, as its replicas' files show it: a module for each table.

- `views`: all tables in their order; `stated_voters`: what voter_beliefs and replica_status share.
"""

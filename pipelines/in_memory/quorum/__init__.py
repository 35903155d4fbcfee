"""The tables about the quorum itself: a module for each table.

`stated_voters` is what voter_beliefs and replica_status share.
"""

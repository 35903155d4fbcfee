"""The tables about the quorum itself: a module for one or two tables.

`stated_voters` of voter_beliefs is what that table and replica_status share.
"""

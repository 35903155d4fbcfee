"""What happened to a cluster, by the directories of its replicas: pure functions of what was read.

branch      the history that the replicas agree on, over several looks; what lies beside it
changes     the typed changes that its records make, redacted on the way
elections   who won which epoch, and what probably made the election necessary
events      all of these, snapshots and truncations, by clock time
"""

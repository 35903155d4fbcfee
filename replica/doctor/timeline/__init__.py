"""Finds the events of a cluster in the directories of its replicas. All functions are pure.

branch              the history that the replicas agree on over several rounds of captures, and what
                    lies beside it
changes             the typed changes that the branch's records make
causes              what probably made an election necessary
elections           which node won which epoch, and by which cause
unwon               elections that nobody won since the log's last record
event               an event of a timeline
decisive            the few events by which a person understands an incident
events              elections, important changes, snapshots and truncations, by clock time
state               the state after the branch's records, at any of its offsets
asked_for           counts the changes of topics, configs and ACLs, of which there may be very many
latest_changes      the latest changes that people asked for
details             what a change did, in a few words
fencings            when fenced brokers were last alive, and how they came back
leaders_lost        partitions that lost their leader with a change of a broker
partition_events    elections of partitions by which records may have been lost
reassignments       partitions whose replicas are on other brokers than before
tails               where logs left the branch, where two histories part, and truncations
holders             which nodes' logs hold a record
gaps                sentences about what the directories don't show
"""

"""What the logs of several replicas prove about their quorum. All functions are pure: they do no
I/O, and read no clock. The rules of the protocol are in `replica.history`.

- `branch`: the agreed branch of a group. `progress`: the committed part of each replica's log.
- `attested`: the epochs in which replicas are known to have led or voted.
- `went_back`: replicas whose disk went back between two captures. `log_ends`: the ends of logs, and
  logs that end long before the newest log. `lacks_own`: leaders whose logs lack their own records.
- `registered_later`: controllers whose registrations are newer than their disks.
- `sets_in_force`: the voter sets of which a majority may count at the end of a log.
  `possible_end`: the end of what may be committed. `unled`: leaders who gave up, and epochs
  without a known leader.
- `histories`: logs of two histories. `known_voter`: a voter with the doubts about its disk.
  `known_quorum`: what the replicas at hand prove about their quorum and its newest log.
  `conditions`: the conditions of answers that are made from the directories of some voters.
- `recovery`: the remaining replicas with which a quorum should continue. `reasons`: why a plan
  isn't safe; it defines RankedReplica, a replica in the ranking.
"""

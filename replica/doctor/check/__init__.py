"""Named rules over the directory of one replica, or over a group of directories.

    examined = examine(found)              # a directory, read whole: examined
    judged = judge_group([examined, ...])  # findings and snapshot verdicts: group

Every rule is a value in `catalogue`. These modules find the violations of the rules:

  directory         calls the modules below for one directory
  group             judges several directories, and compares them
  damaged           rules of catalogue.log about bytes that the readers could not read
  epochs            leader epochs by LeaderChange records and batches; the sizes of
                    batches; epochs that follow each other too fast
  elections         leaders that follow one another and change nothing
  clock_steps       times of records that go back, and the time in a snapshot's header
  record_findings   each record on its own
  replaying         records that can't be applied, found by the fold of replay_fold;
                    bulk_replaying finds them in large files
  snapshot_validity rules of catalogue.snapshots, and the verdict on each snapshot
  epoch_checkpoint, indexes, state_files   rules of catalogue.files
  membership, lineage, same_snapshots   rules of catalogue.groups
  formatted         rules of catalogue.groups about log directories without a metadata log
  first_election    rules of catalogue.groups about a quorum that never had a leader
  registered        controllers that registered when their logs were longer than now

These modules define values, or help the modules above:

  rule              Rule and Finding
  examined          a directory with the bytes of its logs; history_log: its log for replica.history
  group_member      what membership compares
  mixture           directories of one cluster that lie where another cluster's belong
  partition         the partition of which a directory is a replica
  newest            the newest state among directories
  readable          what an older release of Kafka can't read in a directory
  known_quorum      what directories prove about their quorum
  other_logs        what other logs prove about the elections in one directory's log
  behind            how far logs are behind the newest log
  put_back          which of two conflicting histories is the older one
  landmarks         the files that need not be read whole again

replica.doctor.health judges the rules of catalogue.health.

Judging reads no file and changes nothing: it takes values and returns findings.
"""

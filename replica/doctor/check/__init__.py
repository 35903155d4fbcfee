"""Named rules over the directory of one replica, or over a group of directories.

    examined = examine(found)              # a directory, read whole: examined
    judged = judge_group([examined, ...])  # findings and snapshot verdicts: group

Every rule is a value in `catalogue`. A module here finds the violations of some rules:

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
  membership, lineage, same_snapshots   rules of catalogue.groups; formatted judges those about log
                    directories without a metadata log, first_election those about a quorum that
                    never had a leader. group_member defines what membership
                    compares, mixture finds the disks of one cluster in the places of another's
  directory         calls all of these for one directory, group for several

`rule` defines Rule and Finding; `examined` defines a directory with the bytes of its logs, and
`history_log` gives its log as a value for replica.history.
`partition` finds of which partition a directory is, `newest` the newest state among directories,
`readable` what an older release can't read in a directory, `registered` controllers that registered
with more of the log than their disks have, `known_quorum` what directories prove about their
quorum, `other_logs` what they prove about one directory's elections; `behind` how far logs are
behind the newest log; `put_back` which of two histories was there before; `landmarks` chooses what
a second reading of a directory may skip.
replica.doctor.health judges the rules of catalogue.health.

Judging reads no file and changes nothing: it takes values and returns findings.
"""

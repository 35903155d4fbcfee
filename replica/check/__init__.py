"""The doctor: named rules over the directory of one replica, or over a group of directories.

    examined = examine(found)              # one look at a directory: replica.check.examined
    judged = judge_group([examined, ...])  # findings and snapshot verdicts: replica.check.group

Every rule is a value in `catalogue`. A module here finds the violations of some rules:

  damaged           rules of catalogue.log about bytes that the readers could not read
  epochs            leader epochs by LeaderChange records and batches; batch sizes, epoch churn
  records           records by themselves
  replaying         records that can't be applied, by the fold of replay_fold;
                    bulk_replaying: the same for large files
  snapshots         rules of catalogue.snapshots, and the verdict on each snapshot
  epoch_checkpoint, indexes, state_files   rules of catalogue.files
  members, membership, lineage, same_snapshots   rules of catalogue.groups
  directory         calls all of these for one directory, group for several

`rule` has Rule and Finding, `examined` a directory with the bytes of its logs. Rules of
catalogue.health are judged by replica.health.

Judging reads no file and changes nothing: it takes values, and gives findings.
"""

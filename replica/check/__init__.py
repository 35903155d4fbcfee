"""The doctor: named rules over one replica's directory, or over a group of them.

    examined = examine(found)              # one look at a directory: replica.check.examined
    judged = judge_group([examined, ...])  # findings and snapshot verdicts: replica.check.group

rule             Rule, Finding, Severity; catalogue: every rule, as data
examined         a directory with the bytes of its logs
group            judge_group; directory: all rules over one directory
damaged          what readers could not take
epochs           leader epochs by LeaderChange records and batches; batch sizes, churn
epoch_checkpoint leader-epoch-checkpoint; indexes: indexes and leftovers; state_files: the others
records          every record looked at
replaying        every record applied, by the fold of replay_fold; bulk_replaying: of large files
snapshots        verdicts: whole, in place, equal to the replay
members, membership, lineage, same_snapshots   directories against each other

Judging reads nothing and changes nothing: values in, findings out.
"""

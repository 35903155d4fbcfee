"""The report's page of directories, without a lake: what the doctor says of them, in the rows that
`pipelines.report` takes.

- `given`: the directories of one cluster, round by round, with their logs and judgements.
- `captures`: rows about replicas, epochs and leaders. `judged`: about findings, snapshots, health.
- `walked`: the typed changes of the cluster's log: their numbers, and the newest of them.
- `records`: decoded records.
- `parted`: where logs diverge, which records a log lost between rounds, and the effect of this.
- `beside`: two sections in the place of the slider on a lake's page: the events, the state now.
- `pages`: all of these rows and sections as a Report.
- `verdicts`: the verdicts alone, for a lake that was made of the directories.
"""

"""The report's page of directories, without a lake: what the doctor says of them, in the rows that
`pipelines.report` takes.

- `given`: the directories of one cluster, round by round, with their logs and judgements.
- `captures`: rows about replicas, epochs and leaders. `judged`: about findings, snapshots, health.
- `walked`: the typed changes of the cluster's log, counted and the newest. `records`: decoded ones.
- `parted`: where logs diverge, what vanished between rounds, and what was lost by it.
- `beside`: the sections that the page of a lake has otherwise: the events, and the state now.
- `pages`: all of it as a Report.
"""

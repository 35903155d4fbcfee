"""The page that `kraftlake report` makes of directories without a lake. The modules turn the
judgements of the directories into rows, from which `pipelines.report` makes the page.

- `given`: the directories of one cluster, round by round, with their logs and judgements.
- `captures`: rows about replicas, epochs and leaders. `judged`: about findings, snapshots, health.
- `walked`: the typed changes of the cluster's log: their numbers, and the newest of them.
- `records`: decoded records.
- `parted`: where logs diverge, which records a log lost between rounds, and the effect of this.
- `beside`: the sections with the events and with the state now. The page of a lake has neither; it
  has a slider, which shows the state at any moment.
- `pages`: all of these rows and sections as a Report.
- `verdicts`: the verdicts alone, for a lake that was made of the directories.
"""

"""The replay of the agreed branch: pure functions of rows, in any process.

A large cluster is replayed in several parts. Each part has the entities of one bucket of keys.

- `plan`: the runs without a hole, and the offsets of snapshots. `parts`: how a part walks the log.
  `reading`: the records of the branch, a piece at a time.
- `columns`: the records that a part needs, chosen in columns; `entries`: records in columns, and as
  values.
- `history`: versions of entities, and changes; `partitions`: versions and changes of partitions, by
  a kernel; `written`: both as rows. `compared`: every snapshot compared with the log by each part,
  and the results of all parts added up; `compared_before`: snapshots that an earlier build has
  compared.

No module here imports pyspark.
"""

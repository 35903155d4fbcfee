"""What a replica keeps on its disk, safe against a crash at any moment. The bytes are Kafka's.

- `filesystem`: the port to the disk, the real disk behind it, and the atomic replacement of a file.
- `log`: segments, indexes and leader-epoch-checkpoint: `segment` with `segment_files` and
  `segment_index`, `epoch_checkpoint`; `newest_batches`: the end of the log in memory.
  `begun_flush`: a sync in another thread. `batches` converts bytes to the core's values.
- `recovery`: opens a log, and repairs what a crash left there; `batch_walk` reads the newest
  segment, `closed_segments` checks the others.
- `snapshots`, `snapshot_writer`: checkpoint files, from .part to .deleted.
- `stored_batches`: batches of a log or a snapshot for a reader in another thread.
- `archive`: keeps the batches that a recorder's log removes.
- `quorum_state_file`, `identity`: the file with the vote, and the file that names the owner of the
  directory.
- `spare_files`: open files that are closed when the process has no free file descriptor.
- `directory_lock`: lets one process at a time use a directory, Kafka's or kraftlake's.

The changes of a method whose docstring says "Durable" are on disk when the method returns. A crash
may lose what was appended since the last `flush`. Only the order of writes decides what a crash may
lose; there is no journal.

1. A segment and its indexes are synced before the next segment is made. So a crash can tear only
   the end of the newest segment, and opening reads only that segment.
2. Entries of the newest segment's offset index are written after the bytes to which they point were
   synced. If the log is damaged below the last entry, synced bytes are lost, and the replica
   refuses to start.
3. Truncation shortens the index before the log, and removes segments from the newest one backwards.
   So a crash leaves the beginning of the log, and never a hole in it.
4. The log start is the first start offset in leader-epoch-checkpoint, which is written before
   segments are deleted.
"""

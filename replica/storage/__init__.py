"""What a replica keeps on its disk, safe against a crash at any moment. The bytes are Kafka's.

- `filesystem`: the port to the disk, its real implementation, and the atomic replacement of a file.
- `log`: segments, indexes and leader-epoch-checkpoint.
- `recovery`: repairs at opening what a crash left.
- `snapshots`, `snapshot_writer`: checkpoint files, from .part to .deleted.
- `archive`: keeps what a recorder's log would lose.
- `quorum_state_file`, `identity`: the vote, and whose directory it is.
- `directory_lock`: one process at a time, Kafka's or kraftlake's.

Only the order of writes decides what a crash may lose; there is no journal.

1. A segment and its indexes are synced before the next segment is made. A crash leaves a torn end
in the newest segment only, and opening reads only that segment.
2. Entries of the newest segment's offset index are written after the bytes at which they point were
synced. Where the log is broken below the last entry, synced bytes are lost, and the replica refuses
to start.
3. Truncation shortens the index before the log, and removes segments from the newest one backwards.
A crash leaves a prefix of the log, never a hole.
4. The log start is the first start offset in leader-epoch-checkpoint, which is written before
segments are deleted.
"""

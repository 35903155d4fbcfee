"""What a replica keeps on disk, safe against a crash at any moment; the bytes are Kafka's.

- `filesystem`: the port to the disk, its real implementation, and the atomic replace of a file.
- `log`: segments, indexes, leader-epoch-checkpoint; `recovery`: what opening makes of a crash.
- `snapshots`, `snapshot_writer`: checkpoint files, from .part to .deleted.
- `archive`: where a recorder's log puts what it would lose otherwise.
- `quorum_state_file`, `identity`: the vote, and whose directory it is.
- `directory_lock`: one process at a time, Kafka's or ours.

What may be lost is decided by order alone, not by a file of our own:
1. A segment and its indexes are synced before the next one is created, so a crash leaves a torn
   end in the newest segment only; opening scans that one and no older one.
2. Entries of the newest segment's offset index are written after the bytes they point at were
   synced. A log that is broken below the last of them has lost what was safe: it refuses to start.
3. Truncation shortens the index before the log, and removes segments from the newest backwards,
   so a crash leaves a prefix of the log, never a hole.
4. The log start is the first start offset in leader-epoch-checkpoint, written before segments go.
"""

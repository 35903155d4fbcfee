"""The files of a metadata directory: a module for each kind of file.

To read it in order:
- One batch: `batch` (its header), `record`, `compression`, `checksum`; `control` and
  `control_records`: the Raft layer's records; `whole_batch` writes one.
- Batches one after another, where a fault ends the reading: `frames`, and `runs`, which counts many
  batches at once.
- Batches in a file that may be damaged anywhere: `walk` reads them, `resync` finds the next batch
  behind damage, and `base_offsets` judges base offsets, which no CRC covers. `segment` scans a
  whole file with these. `content` reads its bytes again; `stored_batches`: whole batches in files
  for a reader in another thread; with `known_file` and `content_hash` only the new bytes of a grown
  file are read.
- Beside a log: `index`, `snapshot` (names), `snapshot_content` (header and footer),
  `producer_snapshot`, `leader_epoch_checkpoint`, `partition_metadata`, `quorum_state`,
  `meta_properties`, and kraftlake's `quorum_properties` and `capture`. `text_file`,
  `java_properties` and `timestamps` are parts of some of these.
- A directory: `file_names`, `listing` (the order of reading), `reading` and `byte_source` (opened
  files), `directory` (the whole directory as one value), `damage` (places that could not be read),
  `discovery` (the directories below a user's paths), `formatted` (log directories without a
  metadata log), `partition_folders` (a broker's log directory), `log_dirs` (the state of a node's
  log.dirs), `key_stores` (the kind of a file of keys).

Every decoder is total: it returns a value, or raises a replica.errors.DataError that names the
byte. Every encoder gives the bytes that Kafka writes. These functions are pure, over buffers. Only
`byte_source`, `reading`, `listing`, `discovery`, `formatted`, `partition_folders`, `log_dirs`,
`key_stores` and `directory` touch the file system, and they only read it.
"""

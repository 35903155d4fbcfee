"""The files of a metadata directory: a module for each kind of file.

To read it in order
- One batch: `batch` (its header), `record`, `compression`, `checksum`; `control` and
  `control_records`: the Raft layer's records; `whole_batch` writes one.
- Batches one after another, where a fault ends the reading: `frames`, and `runs`, which counts many
  batches at once.
- Batches in a file that may be damaged anywhere: `walk`, which `resync` leads past damage, and
  `base_offsets`, which judges what no CRC covers. `segment` scans the whole file so. `content`
  reads its bytes again, and `stored_batches` names whole batches in files for a reader in another
  thread; `known_file` and `content_hash` let a grown file be read from its new bytes
  on.
- Beside a log: `index`, `snapshot` (names), `snapshot_content` (header and footer),
  `producer_snapshot`, `leader_epoch_checkpoint`, `partition_metadata`, `quorum_state`,
  `meta_properties`, and our own `quorum_properties` and `capture`. `text_file`,
  `java_properties` and `timestamps` are what some of these are made of.
- A directory: `file_names`, `listing` (the order of reading), `reading` and `byte_source` (opened
  files), `directory` (all of it as one value), `damage` (what could not be read), `discovery` (the
  directories below a user's paths), `formatted` (log directories without a metadata log),
  `partition_folders` (a broker's, with the folders of its partitions),
  `log_dirs` (what a node's log.dirs are), `key_stores` (what a file of keys is).

Every decoder is total: it returns a value, or raises a replica.errors.DataError that names the
byte. Every encoder gives the bytes that Kafka writes. These functions are pure, over buffers. Only
`byte_source`, `reading`, `listing`, `discovery`, `formatted`, `partition_folders`, `log_dirs`,
`key_stores` and `directory` touch the file system, and they only read it.
"""

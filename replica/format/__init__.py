"""The files of a metadata directory: a module for each kind of file.

One batch:
- `batch`: its header. `record`: its records. `compression`, `checksum`: codecs and the CRC.
- `control`, `control_records`: the records of the Raft layer.
- `whole_batch`: makes batches.

Batches one after another, where a fault ends the reading:
- `frames`: one batch at a time. `runs`: counts many batches at once.
- `stored_batches`: whole batches in files, for a reader in another thread.

Batches in a file that may be damaged anywhere:
- `walk`: reads them. `resync`: finds the next batch behind damage. `base_offsets`: judges base
  offsets, which no CRC covers. `segment`: scans a whole file with these three.
- `content`: reads the bytes of a scanned file again.
- `known_file`, `content_hash`: let a reader read only the new bytes of a file that has grown.

Beside a log:
- `index`, `snapshot` (names), `snapshot_content` (header and footer), `producer_snapshot`,
  `leader_epoch_checkpoint`, `partition_metadata`, `quorum_state`, `meta_properties`, and
  kraftlake's `quorum_properties` and `capture`.
- `text_file`, `java_properties` and `timestamps` are parts of some of these.

A directory:
- `directory`: the whole directory as one value. `damage`: places that could not be read.
- `file_names`, `listing` (the order of reading), `reading` and `byte_source` (opened files).
- `discovery`: the directories below a user's paths. `formatted`: log directories without a metadata
  log. `partition_folders`: a broker's log directory. `log_dirs`: the state of a node's log.dirs.
  `key_stores`: the kind of a file of keys.

Every decoder is total: it returns a value, or raises a replica.errors.DataError that names the
byte. Every encoder gives the bytes that Kafka writes. These functions are pure, over buffers. Only
`byte_source`, `reading`, `listing`, `discovery`, `formatted`, `partition_folders`, `log_dirs`,
`key_stores` and `directory` touch the file system, and they only read it.
"""

"""The bulk reader: a segment or snapshot, in memory or an open file -> Arrow, at machine speed.

    for batch in scan_records(data, redactor=redactor):   # replica.scan.arrow
        ...                                               # pyarrow.RecordBatch, 32,768 rows or so

arrow        scan_records, scan_batches: what others call
lines        LineScan: records as lines of JSON, without Arrow
segments     whole files for replica.format.directory, by the reader that is faster
odd_records  the records that need a look by the scalar reader
bulk_replay  BulkReplay: what the records of chunks add up to, as replica.metadata.image.Replay says
replay_tables    what its kernel keeps; replay_slots: as arrays; replay_state: written into a replay
log_bytes    the bytes that its references mean
partition_versions  PartitionVersions: versions and changes of partitions, told as columns
version_tables   what its kernel keeps and tells; version_input: the records that it takes
regions      drives the kernels and hands what they refuse to the scalar reader
window       the part of a file that is in memory
rows         a chunk of records -> Arrow; columns: schemas and columns
scalar_rows  rows by the scalar reader, for what the kernels refuse
frames       the tables of a chunk, which the first kernel fills
tables       replica.message.program as arrays, and how much room its output needs
compiled     the kernels' names and signatures
kernels/     their code, for numba; imported only to compile it
native       calls compiled code, and links it into this process
store        keeps compiled code on disk; target: for which CPU; compiling: has it made by numba

A start takes machine code from disk: it neither imports numba nor compiles anything.

Two readers, one truth: a kernel only takes what it can show to be sound (a whole batch in its
place, with a right CRC and plain records; a value of a known version with every length in bounds).
It refuses everything else by a code, and the scalar reader (replica.format, replica.metadata)
reads that batch or that record. So rows, damages and their order are those of the scalar reader;
tests/replica/scan holds the two equal on recorded, random and damaged bytes.

Bytes are hostile. Each read is checked against the end of its batch or value; positions that
can't be believed become kernels.varints.NOWHERE, at which nothing can be read.
"""

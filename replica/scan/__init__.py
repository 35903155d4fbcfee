"""The bulk reader: it reads a segment or snapshot, in memory or in a file, into Arrow by machine
code.

    for batch in RecordScan(data, redactor=redactor):   # replica.scan.arrow
        ...                                             # pyarrow.RecordBatch, 32,768 rows or so

arrow        RecordScan, BatchScan: what others call
lines        LineScan: records as lines of JSON, without Arrow
segments     whole files for replica.format.directory, by the reader that is faster; the records of
             a file that the scalar reader must look at
bulk_replay  BulkReplay: replays the records of chunks, as replica.metadata.image.Replay does
stored_replay    BulkReplay for a state machine, over the stored batches of a log or snapshot
replay_tables    what its kernel keeps. replay_slots makes arrays of it; replay_state writes it back
log_bytes    the bytes of the log at which BulkReplay's references point
partition_versions  PartitionVersions: versions and changes of partitions, as columns
version_tables   what its kernel keeps and reports. version_input makes the kernel's input
compiled_runs    runs of batches, for replicas with large logs
compact      the batches of a large file as columns; secret_batches: those that may hold a secret
variant_texts    columns of VARIANT -> JSON text
regions      drives the kernels and hands what they refuse to the scalar reader
file_room    how large the part of a file that is in memory may be
rows         a chunk of records -> Arrow; columns: schemas and columns
scalar_rows  rows by the scalar reader, for what the kernels refuse
frames       the tables of a chunk, which the first kernel fills
tables       replica.message.program as arrays, and how much room its output needs
compiled     the kernels' names and signatures
kernels/     the kernels' code, for numba; imported only to compile it
native       links compiled code into this process, and calls it
readiness    whether the kernels are compiled; nothing waits for the compiler where little is read
store        stores compiled code on disk. target names the CPU; compiler compiles one
             kernel in a process of its own, compiling all of them

A process loads machine code from disk when it starts: it neither imports numba nor compiles. Where
none is on disk, the scalar reader reads everything, until much is read.

The two readers give the same result. A kernel takes only what it can prove sound: a whole batch in
its place, with a right CRC and plain records; a value of a known version with every length in
bounds. It refuses everything else with a code, and the scalar reader (replica.format,
replica.metadata) reads that batch or record. So rows, damages and their order are those of the
scalar reader. tests/replica/scan compares both on recorded, random and damaged bytes.

Bytes may be hostile. Each read is checked against the end of its batch or value. An impossible
position becomes kernels.varints.NOWHERE, at which nothing can be read.
"""

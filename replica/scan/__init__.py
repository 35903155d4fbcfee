"""The bulk reader: it reads a segment or snapshot, in memory or in a file, into Arrow by compiled
code.

    for batch in RecordScan(data, redactor=redactor):   # replica.scan.arrow
        ...                                             # pyarrow.RecordBatch, 32,768 rows or so

arrow                 RecordScan, BatchScan: the interface for other packages
lines                 LineScan: records as lines of JSON, without Arrow
segments              whole files for replica.format.directory, by the faster reader; the records of
                      a file that the scalar reader must check
bulk_replay           BulkReplay: replays the records of chunks, as replica.metadata.image.Replay
                      does
stored_replay         BulkReplay for a state machine, over the stored batches of a log or snapshot
replay_tables         the tables of the replay kernel. replay_slots makes their arrays; replay_state
                      writes them back
log_bytes             the bytes of the log to which BulkReplay's references point
partition_versions    PartitionVersions: versions and changes of partitions, as columns
version_tables        the tables and reports of the kernel of PartitionVersions. version_input makes
                      the kernel's input
compiled_runs         runs of batches, for replicas with large logs
compact               the batches of a large file as columns; secret_batches: batches that may hold
                      a secret
variant_texts         columns of VARIANT -> JSON text
json_texts            the texts of a column that may be no JSON
regions               calls the kernels, and gives what they refuse to the scalar reader
file_room             the most memory for a part of a file
rows                  a chunk of records -> Arrow; columns: schemas and columns
scalar_rows           rows by the scalar reader, for what the kernels refuse
frames                the tables of a chunk, which the first kernel fills
tables                replica.message.program as arrays, and the most bytes of its output
compiled              the kernels' names and signatures
kernels/              the kernels' code, for numba; imported only to compile it
native                links compiled code into this process, and calls it
readiness             whether the kernels are compiled; no caller waits for the compiler to read
                      little data
store                 stores compiled code on disk. target names the CPU; compiler compiles one
                      kernel in its own process, compiling compiles all of them

A process loads compiled code from disk: it neither imports numba nor compiles. If no code is on
disk, the scalar reader reads everything. Only much data makes a process compile the
kernels.

The two readers give the same result. A kernel takes only bytes that it can prove valid: a whole
batch at the expected offset, with a valid CRC and plain records; a value of a known version whose
lengths all fit. It refuses everything else with a code, and the scalar reader (replica.format,
replica.metadata) reads this batch or record. So rows, damages and their order are the same as with
the scalar reader. tests/replica/scan compares both on recorded, random and damaged bytes.

Bytes may be hostile. Each read is checked against the end of its batch or value. An impossible
position becomes kernels.varints.NOWHERE, at which nothing can be read.
"""

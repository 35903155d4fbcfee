"""The bulk reader: a segment or snapshot, in memory or an open file -> Arrow, at machine speed.

    for batch in scan_records(data, redactor=redactor):   # replica.scan.arrow
        ...                                               # pyarrow.RecordBatch, 32,768 rows or so

arrow        scan_records, scan_batches: what others call
lines        LineScan: records as lines of JSON, without Arrow
segments     whole files for replica.format.directory, by the reader that is faster
odd_batches  the batches that need a look record by record
regions      drives the kernels and hands what they refuse to the scalar reader
window       the part of a file that is in memory
frames       kernel: batch headers, CRC-32C and the records' places in one pass
rows         a chunk of records -> Arrow, by the kernels below; columns: schemas and columns
json_rows    kernel: values of records -> Kafka's JSON (its pieces: json_values)
json_lines   kernel: whole lines of dump --json
variant_rows kernel: values of records -> Spark's VARIANT (variant_values)
value_rows   kernel: the values themselves
straight     writes straight-line kernels for the commonest record versions
locate       where the fields of a value lie; the interpreter of replica.metadata.program
tables       replica.metadata.program as arrays, and how much room its output needs
scalar_rows  rows by the scalar reader, for what the kernels refuse
checksum, varints, text, memory, compilation   what kernels are made of

Two readers, one truth: a kernel only takes what it can show to be sound (a whole batch in its
place, with a right CRC and plain records; a value of a known version with every length in bounds).
It refuses everything else by a code, and the scalar reader (replica.format, replica.metadata)
reads that batch or that record. So rows, damages and their order are those of the scalar reader;
tests/replica/scan holds the two equal on recorded, random and damaged bytes.

Bytes are hostile. Each read is checked against the end of its batch or value; positions that
can't be believed become varints.NOWHERE, at which nothing can be read.
"""

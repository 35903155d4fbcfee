"""The kernels' code: Python that numba compiles. This package is imported only to compile it.

frames          batch headers, CRC-32C and the records' places in one pass
json_lines      records -> lines of Kafka's JSON (its pieces: json_values)
variant_rows    values of records -> Spark's VARIANT (variant_values); variant_texts: VARIANT ->
                JSON
json_texts      finds texts that may be no JSON
rows            copies the values; finds the records that the scalar reader must check
plain_runs      finds runs of plain batches, for replicas
replay_rows     the replay of records (its piece: replay_brokers)
version_rows    versions and changes of partitions (version_lists, version_changes, version_texts);
                slots, records, partitions and prefetch are pieces of both replays
straight        writes straight-line code for the most frequent record versions
locate          the places of a value's fields; the interpreter of replica.scan.tables
checksum, varints, text, memory    the parts of kernels
compilation     the decorators of functions that kernels call
emit            kernel -> object file

A kernel is a plain function here, whose signature is in replica.scan.compiled. It allocates nothing
and raises nothing. emit checks this.
"""

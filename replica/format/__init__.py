"""What is on disk: pure functions over buffers, one module per file kind.

Every decoder is total: it returns a value or raises a replica.errors.DataError that names the
byte. Every encoder gives back the bytes that Kafka writes. Only `directory` touches the file
system, and only to read.
"""

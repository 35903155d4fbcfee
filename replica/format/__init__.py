"""The files of a metadata directory: a module for each kind of file.

Every decoder is total: it returns a value, or raises a replica.errors.DataError that names the
byte. Every encoder gives the bytes that Kafka writes. These functions are pure, over buffers. Only
`byte_source`, `reading`, `listing`, `discovery` and `directory` touch the file system, and they
only read it.
"""

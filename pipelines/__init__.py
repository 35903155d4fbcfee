"""From directories to tables: captures, a lake of Delta tables, and the answers that are read from
it, with Spark or without it. docs/reference/the-lake.md lists the tables."""

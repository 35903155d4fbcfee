"""From directories to tables: captures, a lake of Delta tables, and what is read out of it, by
Spark or without it. docs/reference/the-lake.md lists the tables."""

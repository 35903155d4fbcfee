"""Captures on their way into the lake: bundles, object stores, and a copy that can't change.

- In: `inputs` makes local folders of paths, `remote` of URIs, `bundle` with `archive_members` of
  bundles.
- `captures`: the captures that one call makes. `capture`: the capture of one directory, with
  `manifest` (capture.json), `grouping` (which directories were captured together), `same_copy`
  (which directories are equal) and `known` (the files that the lake has already).
- `spool` copies the files that are read. `shared`: directories that every task can reach; tasks
  read their files `in_place`.
- `kraftlake capture`: `taking`, `destination`; `pruning` removes old captures.
- `private`: files for unredacted bytes. `patience`: calls that nothing can interrupt.

Files of directories that a running node may write to are first copied into a spool folder of the
lake, in the same pass that reads them. Spark's workers read the copies, so that all tables of one
ingest are about the same bytes. Nothing in here imports pyspark.
"""

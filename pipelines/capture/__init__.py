"""Captures on their way into the lake: bundles, object stores, and a copy that can't change.

- In: `inputs` makes local folders of paths, `remote` of URIs, `bundle` with `archive` of bundles.
- `captures`: those that one call makes, of replicas; `capture`: one of them, with `manifest`
  (capture.json), `grouping` (which were taken together), `same_copy` (which are equal) and `known`
  (what the lake has already).
- `spool` copies what is read. `shared`: tasks look at directories that all of them reach, and read
  the files `in_place`.
- `kraftlake capture`: `taking`, `destination`; `pruning` removes old captures.
- `private`: files for unredacted bytes. `patience`: calls that nothing can interrupt.

Files of directories that a running node may write to are first copied into a spool folder of the
lake, in the same pass that reads them. Spark's workers read the copies, so that all tables of one
ingest are about the same bytes. Nothing in here imports pyspark.
"""

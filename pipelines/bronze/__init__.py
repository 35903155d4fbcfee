"""Bronze: the content of captured directories as rows, each row once.

- `captured`: captures with their place in the lake. `plan`: what an ingest would bring in.
- `ingest`: one pass of rounds, without groups whose files somebody wrote to meanwhile. `files`: the
  files of a pass and their new bytes; `small_tables` and `damage`: the rows that the driver makes;
  `findings`: each directory judged.
- Records: `new_records` with `log_ranges`, `snapshot_records`.
- The life of a batch: `log_batches` says what its row means; `seen_batches` updates the rows of a
  round, in windows (`batch_windows`), each row by `batch_spans`.
- `forget` removes captures; `remaining` computes what is left.
"""

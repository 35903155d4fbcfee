"""Commands that fill and maintain a lake, and functions that the jobs of jobs/ share.

- ingest: `ingest_plan` (--dry-run), `hiding` (secrets). lake: `contents`.
  forget: `forget`. demo: `demo`.
- `engines`: which engine runs a job, and what is checked before it writes. `lake_content`: what a
  lake holds. `progress`: the lines of a job while it works.
"""

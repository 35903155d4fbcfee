"""Commands that fill a lake and keep it.

- ingest: `ingest`, `ingest_plan` (--dry-run), `following` (--follow). build: `build`. quality:
  `quality`. lake: `contents`. maintain: `maintain`. forget: `forget`. demo: `demo`.
- `engines`: which engine runs a job. `held`: what a lake holds. `progress`: what a job says while
  it works. `waiting`: what is checked before a job writes.
"""

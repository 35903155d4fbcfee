"""The functions of the build's stages: each does one unit, in any process of any machine.

- `pins`: the versions of the lake's tables that a build reads; `stored`: a cluster's tables, read
  from the lake a range of offsets at a time. `output`: what a unit makes: files that no commit
  names yet, and the judgements of their rows.
- `whole_cluster`: a cluster in one unit, from bronze to gold. `grown_cluster`: the same for a
  cluster of which a part is unchanged since the build before. `large_cluster`: the same functions
  in several units, for a cluster that is too large for one unit. `buckets`: the replay of such a
  cluster in parts. `compare`: its new rows of changes, compared with the table's.
- `run`: the stages as the driver runs them. `rounds`: findings about clusters that were captured
  together.
"""

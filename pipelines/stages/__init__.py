"""The functions of the build's stages: each does one unit, in any process of any machine.

- `pins`: the versions of the lake's tables that a build reads; `stored`: a cluster's tables, read
  from the lake a range of offsets at a time. `output`: what a unit makes: files that no commit
  names yet, and how their rows fare in the audit.
- `whole_cluster`: a cluster in one unit, from bronze to gold. `grown_cluster`: the same for a
  cluster of which a part has stayed as the build before saw it. `large_cluster`: the same functions
  in several units, for a cluster that is too large for one. `buckets`: its replay in parts.
  `compare`: its changes, beside those that are there.
- `run`: the stages as the driver runs them. `rounds`: what clusters that were captured together
  say of each other.
"""

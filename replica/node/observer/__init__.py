"""An observer records the log of another quorum: `kraftlake replica observe`.

- `discovery`: asks the nodes at a few addresses for the cluster's id, its voters, and where these
  listen.
- `guard`: keeps the observer from fetching under another node's id.
- `progress`: what the operator is told during the recording.
- `recorder`: a node with all of these. It finds which replica's recording a directory holds, and
  makes new directories.
"""

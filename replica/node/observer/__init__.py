"""An observer records the log of another quorum: `kraftlake replica observe`.

- `discovery`: asks the nodes at a few addresses for the cluster's id, its voters and their
  endpoints.
- `guard`: keeps the observer from fetching under another node's id.
- `progress`: the notices to the operator during the recording.
- `recorder`: a node that uses these modules. This module also finds the replica whose recording a
  directory holds, and makes new directories.
"""

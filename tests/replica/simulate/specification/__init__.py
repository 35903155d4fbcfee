"""The contract of the consensus core as an executable specification, and traces that are compared
with it.

`specification` has the state and the actions, in the manner of TLA+; it imports nothing of the
core. `trace` has the actions of a simulated replica's step.
"""

"""What the consensus core promises, as an executable specification, and traces held to it.

`specification` has the state and the actions, in the manner of TLA+; it knows nothing of the core.
`trace` says what a step of a simulated replica did.
"""

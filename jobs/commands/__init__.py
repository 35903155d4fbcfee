"""What each command is called with, and its help; the work is in the module of its name.

`logs` and `lake` are what is asked of, `reading` asks running nodes, `engine` runs replicas;
`options` are shared.
"""

"""What stands around the core: storage and a state machine, driven by its effects.

One driver for all: the simulator and the process on a network run this very code, so what was
simulated is what runs.
"""

"""Carries out the core's effects on the storage and on a state machine.

The simulator and the process on a network run this same code, so what runs is what was
simulated.
"""

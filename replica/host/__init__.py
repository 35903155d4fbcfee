"""Carries out the core's effects on the storage and on a state machine.

The simulator and the process on a network run the same code.
"""

"""The simulator compiled by mypyc, for campaigns: the same runs in less time.

    make simulator                      # build/simulator: some minutes, with a C compiler
    python -m tests.replica.simulate.compiled tests.bench.simulate --seeds 50
    python -m tests.replica.simulate.compiled tests.replica.simulate.campaign --minutes 60 --write

build/simulator is a copy of replica/, which nothing else looks into. In this copy, `build` compiles
the modules that run in an event of the simulator. Before that, `values` writes out their
dataclasses as plain classes, because mypyc leaves a dataclass's __init__, __eq__ and __hash__ to
Python.
"""

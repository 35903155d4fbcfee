"""The simulator compiled by mypyc, for campaigns: the same runs in less time.

    make simulator                      # build/simulator: some minutes, with a C compiler
    python -m tests.replica.simulate.compiled tests.bench.simulate --seeds 50
    python -m tests.replica.simulate.compiled tests.replica.simulate.campaign --minutes 60 --write

build/simulator is a copy of replica/, which nothing else looks into. `build` compiles the modules
on the way of an event in it; `values` writes out their value classes first, because mypyc compiles
a dataclass, but leaves its __init__, __eq__ and __hash__ to Python.
"""

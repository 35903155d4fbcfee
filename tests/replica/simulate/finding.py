"""Runs the simulator until an invariant breaks."""

from replica.simulate.faulty_run import run

EVENTS = 2000


def found(invariant, within_seeds, first=0):
    """The detail of a run, over some seeds, that breaks this invariant. Runs that break other
    invariants are skipped. first: the seed that is tried first, because it has found it before."""
    said = set()
    for seed in dict.fromkeys((first, *range(within_seeds))):
        broken = run(seed, EVENTS).broken or "none"
        if broken.startswith(f"{invariant}: "):
            return broken
        said.add(broken)
    raise AssertionError(f"{invariant}: not found in {within_seeds} seeds, but {said}")

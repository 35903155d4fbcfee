"""The rounds of Python's garbage collector beside a large state."""

import gc
import itertools
import weakref

from replica.node.garbage import short_rounds


class Held:
    """Something that the collector looks at."""


def test_the_collector_looks_no_more_at_what_outlived_a_long_round():
    state = [Held() for _ in range(1000)]
    with short_rounds(longest_s=1.0, now=itertools.count(0, 2).__next__):
        gc.collect()
        assert gc.get_freeze_count() > len(state)
        assert not any(isinstance(each, Held) for each in gc.get_objects())
    assert gc.get_freeze_count() == 0


def test_a_short_round_changes_nothing():
    with short_rounds(longest_s=1.0, now=lambda: 0.0):
        gc.collect()
        assert gc.get_freeze_count() == 0


def test_what_outlived_a_long_round_is_freed_once_nobody_refers_to_it():
    state = [Held()]
    one = weakref.ref(state[0])
    with short_rounds(longest_s=1.0, now=itertools.count(0, 2).__next__):
        gc.collect()
        state.clear()
        assert one() is None


def test_circles_that_are_made_later_are_still_collected():
    times = iter([0.0, 2.0])
    with short_rounds(longest_s=1.0, now=lambda: next(times, 2.0)):
        gc.collect()
        circle = Held()
        circle.itself = circle
        gone = weakref.ref(circle)
        del circle
        gc.collect()
        assert gone() is None

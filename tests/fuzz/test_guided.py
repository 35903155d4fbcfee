"""A short form of the campaign in every run, without a guide: sound inputs of every target and some
mutations of each, always the same ones. GUIDED.md has the long one."""

from __future__ import annotations

import pytest

from tests.examples import examples
from tests.fuzz.guided.campaign import State, after
from tests.fuzz.guided.catalogue import TARGETS
from tests.fuzz.guided.corpus import mutated
from tests.fuzz.guided.logs import heads, mended

_SLOW = {"segments": 4, "bundles": 60, "replay": 60}
"""Mutations of targets whose inputs take long."""


@pytest.mark.parametrize("name", TARGETS)
def test_inputs_near_sound_ones_do_no_harm(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replica.scan.regions.WINDOW_BYTES", 300)  # the inputs change it
    target = TARGETS[name]
    few = _SLOW.get(name)
    for number, data in enumerate(mutated(target, 1, few or examples(400))):
        if few is None or number % 6 == 0:
            target.run(data)


def test_a_mended_segment_has_right_sums() -> None:
    data = bytearray(heads("*.log", 3000)[0])
    sound = bytes(data)
    data[17:21] = b"\0\0\0\0"
    assert bytes(data) != sound
    assert mended(bytes(data)) == sound


def test_what_the_tool_says_adds_up() -> None:
    said = "#9\tNEW    cov: 5 ft: 7 corp: 3/40b lim\n#20\tDONE   cov: 6 ft: 9 corp: 4/50b\n"
    said += "stat::slowest_unit_time_sec:    1\nstat::peak_rss_mb:              152\n"
    state = after(State(seconds=1, inputs=5, edges=8), said, 0, 2)
    assert state == State(3, 25, 8, 9, 4, 152, 1)
    assert "exit code 77" in after(state, "==1== ERROR: libFuzzer: timeout\n", 77, 1).ends[0]

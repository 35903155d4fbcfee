"""A short form of the campaign in every run; RESULTS.md has the long ones."""

from __future__ import annotations

import asyncio
import random

from tests.fuzz.wire_campaign import at_server, campaign, damaged, seeds


def test_damaged_frames_are_messages_or_errors_of_ours():
    counts = campaign(seeds(), seed=7, frames=5000)
    assert counts["request"] > 0
    assert counts["response"] > 0
    assert counts["CorruptDataError"] > counts["request"]


def test_a_server_outlives_damaged_frames():
    counts = asyncio.run(at_server(seeds(), seed=7, frames=300))
    assert counts["closed"] + counts["answered"] == 300
    assert counts["answered"] > 0


def test_a_frame_is_damaged_the_same_way_each_time():
    frame = bytes(50)
    assert damaged(frame, random.Random("1 2")) == damaged(frame, random.Random("1 2")) != frame

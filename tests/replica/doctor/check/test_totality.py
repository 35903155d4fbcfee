"""Whatever the bytes are: findings, never an exception; and what is found is in the files."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replica.doctor.check.catalogue import RULES
from tests.examples import examples
from tests.replica.doctor.check.editing import judged

DATA = Path(__file__).parents[3] / "data"
NODES = ("kafka-3.7.2-static/final/12", "kafka-4.1.1-dynamic/live/3")


def damage(node: Path, chance: random.Random) -> None:
    files = sorted(path for path in node.rglob("*") if path.is_file())
    path = chance.choice(files)
    raw = bytearray(path.read_bytes())
    match chance.randrange(6):
        case 0:
            path.write_bytes(raw[: chance.randrange(len(raw) + 1)])
        case 1:
            path.unlink()
        case 2:
            other = chance.choice(files)
            if other.exists():
                path.write_bytes(other.read_bytes())
        case _:
            for _ in range(chance.choice((1, 1, 3, 40))):
                if raw:
                    raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
            path.write_bytes(raw)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(NODES), st.integers(0, 2**32))
@pytest.mark.slow
def test_random_damage_never_crashes_the_check(name: str, seed: int) -> None:
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        node = Path(shutil.copytree(DATA / name, Path(folder) / "node"))
        for _ in range(chance.choice((1, 1, 2, 4))):
            damage(node, chance)
        group = judged(node, DATA / name)
        for member in group.members:
            for finding in member.findings:
                assert finding.rule in RULES
                assert "\n" not in finding.message
                assert finding.position is None or finding.position >= 0
                path = Path(member.examined.shown_file(finding.file))
                shown = path.exists() or finding.rule.id == "changed-while-read"
                assert shown, finding


@settings(max_examples=examples(40))
@given(st.sampled_from(NODES), st.integers(0, 2**32))
def test_a_flipped_bit_in_a_batch_is_always_found(name: str, seed: int) -> None:
    """Below the log's magic byte every bit is covered by the CRC, or is a length or an offset."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        node = Path(shutil.copytree(DATA / name, Path(folder) / "node"))
        log = chance.choice(sorted(node.rglob("*.log")))
        raw = bytearray(log.read_bytes())
        raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
        log.write_bytes(raw)
        (member,) = judged(node).members
        assert any(log.name in finding.file for finding in member.findings)

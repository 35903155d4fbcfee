"""The bulk reader's replay of whole directories is the scalar one's, whatever they hold."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replica.doctor.check.bulk_replaying import large_snapshot_image, replay_large_log
from replica.doctor.check.examined import Examined, examine
from replica.doctor.check.replay_fold import FoldedImages
from replica.doctor.check.replaying import replay_log, snapshot_image
from replica.errors import KraftlakeError
from replica.format.discovery import discover
from replica.metadata.codec import encode
from replica.model.epochs import OffsetAndEpoch
from tests.examples import examples
from tests.replica.doctor.check.editing import append, metadata
from tests.replica.doctor.check.test_totality import NODES, damage
from tests.replica.metadata.image import made
from tests.replica.scan.readers import only_the_bulk_reader, only_the_scalar_reader

DATA = Path(__file__).parents[3] / "data"


def _examined(*paths: Path) -> Iterator[Examined]:
    for path in paths:
        for found in discover([str(path)]):
            yield examine(found)


def _some_ends(examined: Examined, chance: random.Random) -> set[OffsetAndEpoch]:
    """Ends of snapshots, and of other batches here and there."""
    ends = {snapshot.id for snapshot in examined.directory.snapshots if snapshot.id is not None}
    for one in examined.directory.segments:
        for batch in one.scan.batches:
            if chance.random() < 0.05:
                ends.add(OffsetAndEpoch(batch.header.next_offset, batch.header.leader_epoch))
    return ends


def _entities(replayed: FoldedImages) -> dict[OffsetAndEpoch, list[object]]:
    return {end: list(image.entities()) for end, image in replayed.images.items()}


def hold_equal(examined: Examined, chance: random.Random) -> FoldedImages:
    ends = _some_ends(examined, chance)
    scalar = replay_log(examined, ends)
    bulk = replay_large_log(examined, ends, snapshot_image)
    assert bulk.images == scalar.images
    assert _entities(bulk) == _entities(scalar)
    assert bulk.first_refused == scalar.first_refused
    assert bulk.refused_count == scalar.refused_count
    for snapshot in examined.directory.snapshots:
        if not snapshot.scan.damages:
            scalar_image = snapshot_image(examined, snapshot)
            bulk_image = large_snapshot_image(examined.content_of(snapshot), snapshot)
            assert bulk_image == scalar_image
            if bulk_image is not None and scalar_image is not None:
                assert list(bulk_image.entities()) == list(scalar_image.entities())
    return scalar


@pytest.mark.slow
def test_every_recorded_directory_is_replayed_alike() -> None:
    images = 0
    for number, examined in enumerate(_examined(DATA)):
        images += len(hold_equal(examined, random.Random(number)).images)
    assert images > 100


@settings(max_examples=examples(60))
@given(st.sampled_from(NODES), st.integers(0, 2**32))
@pytest.mark.slow
def test_damaged_copies_are_replayed_alike(name: str, seed: int) -> None:
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        node = Path(shutil.copytree(DATA / name, Path(folder) / "node"))
        for _ in range(chance.choice((1, 1, 2, 4))):
            damage(node, chance)
        try:
            found = list(_examined(node))
        except KraftlakeError:
            return
        for examined in found:
            hold_equal(examined, chance)


def test_the_first_refusal_is_told_with_its_place_and_its_cause(tmp_path: Path) -> None:
    node = Path(shutil.copytree(DATA / "kafka-4.1.1-dynamic/final/1", tmp_path / "node"))
    path = max(node.rglob("*.log"))
    topic_id, name = made.TOPIC, "orders-of-the-test"
    append(path, metadata("TOPIC_RECORD", name=name, topicId=topic_id))
    append(path, metadata("REMOVE_TOPIC_RECORD", topicId=topic_id))
    for _ in range(3):
        append(path, metadata("REMOVE_TOPIC_RECORD", topicId=topic_id))
    (examined,) = _examined(node)
    replayed = hold_equal(examined, random.Random(0))
    assert replayed.refused_count == 3
    assert replayed.first_refused is not None
    assert len(replayed.first_refused.refusal.because) == 1


def test_large_directories_are_given_to_the_bulk_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    (examined,) = _examined(DATA / NODES[0])
    only_the_scalar_reader(monkeypatch)
    scalar = replay_log(examined, ())
    taken: list[Examined] = []

    def watched(one: Examined, *_: object, **__: object) -> FoldedImages:
        taken.append(one)
        return replay_large_log(one, (), snapshot_image)

    only_the_bulk_reader(monkeypatch)
    monkeypatch.setattr("replica.doctor.check.bulk_replaying.replay_large_log", watched)
    assert replay_log(examined, ()) == scalar
    assert taken == [examined]


def test_the_state_is_known_up_to_the_batch_that_cannot_be_read(tmp_path: Path) -> None:
    node = Path(shutil.copytree(DATA / NODES[0], tmp_path / "node"))
    log = max((node / "__cluster_metadata-0").glob("*.log"))
    for name in ("a", "b", "c"):
        append(log, encode(made.topic(name, f"{name * 21}A")))
    append(log, b"\x01\x78\x00unknown")
    (examined,) = _examined(node)
    ends = {
        OffsetAndEpoch(one.header.next_offset, one.header.leader_epoch)
        for one in examined.directory.segments[-1].scan.batches[-4:]
    }
    bulk = replay_large_log(examined, ends, snapshot_image)
    assert bulk == replay_log(examined, ends)
    assert len(bulk.images) == 3
    newest = replay_large_log(examined, (), snapshot_image, newest=True).newest
    assert newest is not None
    assert newest == replay_log(examined, (), newest=True).newest
    assert (newest.end in ends, newest.is_whole) == (True, False)

"""`kraftlake check --config` before a node starts, and what real Kafka makes of the same files. The
cases are rows of STARTS.md."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.interop.class_archive import make_archive
from tests.interop.kafka_jars import VERSIONS, class_path_or_skip
from tests.interop.kafka_node import free_ports
from tests.interop.result_page import STARTS, hold
from tests.interop.starting_node import running, what_kafka_does
from tests.replica.doctor.startup.answers import answer, cell
from tests.replica.doctor.startup.laid_out import Lay, Place
from tests.replica.doctor.startup.made import CASES
from tests.replica.doctor.startup.made_pairs import PAIRS, LayPair, pair
from tests.rights import kraftlake

OTHER_THREAD = {
    "Error loading metadata log record from offset": "Unable to apply FeatureLevelRecord record",
}
"""What Kafka says instead where another of its threads is the first to end the process."""
RELEASES = tuple(one for one in VERSIONS if one != "4.3.1")


@pytest.fixture(scope="module", autouse=True)
def _archives(tmp_path_factory: pytest.TempPathFactory) -> None:
    """With the classes of a release in an archive, its nodes start in a third of the time."""
    for version in RELEASES:
        class_path_or_skip(version)
        place = Place(tmp_path_factory.mktemp(version), *free_ports(2))
        CASES["a static voter, formatted"](place)
        written = place.data / "__cluster_metadata-0" / "quorum-state"
        make_archive(version, "kafka.Kafka", place.properties, until=written)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_node_starts_as_check_says(case: str, tmp_path: Path) -> None:
    cells = [cell(*_compared(CASES[case], tmp_path / one, one)) for one in RELEASES]
    hold(STARTS, (case,), tuple(cells))


def _compared(lay: Lay, folder: Path, version: str) -> tuple[str, str]:
    """What both say."""
    place = Place(folder, *free_ports(2))
    folder.mkdir()
    lay(place)
    said, words = _said(version, place, place.properties)
    did, log = what_kafka_does(place, version)
    assert said == did, log[-3000:]
    assert words in log or OTHER_THREAD.get(words, words) in log
    return did, words


@pytest.mark.slow
@pytest.mark.parametrize("case", PAIRS)
def test_a_broker_joins_its_controller_as_check_says(case: str, tmp_path: Path) -> None:
    cells = [cell(*_compared_pair(PAIRS[case], tmp_path / one, one)) for one in RELEASES]
    hold(STARTS, (case,), tuple(cells))


def _compared_pair(lay: LayPair, folder: Path, version: str) -> tuple[str, str]:
    """What both say of the broker."""
    controller, broker = pair(folder, *free_ports(2))
    lay(controller, broker)
    said, words = _said(version, broker, controller.properties, broker.properties)
    with running(controller, version):
        did, log = what_kafka_does(broker, version)
    assert said == did, log[-3000:]
    return did, words


def _said(version: str, place: Place, *properties: Path) -> tuple[str, str]:
    """What check says of the node at a place."""
    named = [word for one in properties for word in ("--config", one)]
    ran = kraftlake("check", "--json", *named, "--release", version.rpartition(".")[0])
    assert ran.returncode in (0, 1), ran.stderr
    return answer(map(json.loads, ran.stdout.splitlines()), place)

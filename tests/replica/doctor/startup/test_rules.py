"""Each rule about a node's start is found where it holds, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

from replica.doctor.startup.judging import Election
from replica.doctor.startup.obstacle import Start
from tests.replica.doctor.startup.judged import judged, rules
from tests.replica.doctor.startup.laid_out import ANOTHER, FOLDER, Place
from tests.replica.doctor.startup.made import CASES
from tests.replica.doctor.startup.made_security import MODULE

FOUND = {
    "a number that is none": ["setting-not-understood"],
    "a voter without a port": ["setting-not-understood"],
    "a broken escape": ["setting-not-understood"],
    "an unknown role": ["process-roles-wrong"],
    "node.id is missing": ["node-id-wrong"],
    "broker.id is another than node.id": ["node-id-wrong"],
    "neither voters nor bootstrap servers": ["quorum-not-named"],
    "a controller that is none of the voters": ["role-against-voters"],
    "a broker that is one of the voters": ["role-against-voters"],
    "two listeners of one name": ["listeners-not-understood"],
    "a broker with a listener of the controllers": ["controller-listeners-wrong"],
    "clients are told 0.0.0.0": ["broker-listeners-wrong"],
    "never formatted": ["log-directory-not-formatted"],
    "a second log directory is missing": ["log-directory-not-formatted"],
    "the log directory is a file": ["log-directory-unusable"],
    "a second log directory is a file": ["log-directory-offline"],
    "node.id is another than the disk's": ["node-id-differs"],
    "two log directories of two clusters": ["log-directories-differ"],
    "two log directories with one directory.id": ["directory-id-wrong"],
    "a reserved directory.id": ["directory-id-wrong"],
    "a metadata log in both log directories": ["metadata-log-elsewhere"],
    "a log of metadata.version 3.2": ["release-cannot-read-log"],
    "a log of static voters, and only bootstrap servers": ["static-voters-not-named"],
    "formatted without voters, and only bootstrap servers": ["no-voters-anywhere"],
    "a dynamic voter's node with another disk": ["voter-directory-id"],
    "fewer static voters than the log has": ["configured-voters-differ"],
    "a voter at another port than its listener": ["voter-address-differs"],
    "a line that is no property": ["line-without-key"],
    "a key twice": ["setting-twice"],
    "unknown keys, a topic's key, comments and a long line": ["setting-unknown", "setting-unknown"],
    "a key store that is not there": ["key-store-unusable"],
    "TLS without a key store": ["controller-security-differs"],
    "SASL without a login module": ["sasl-login-wrong"],
    "SASL whose mechanism for the controllers is not enabled": ["sasl-mechanism-not-enabled"],
    "a security protocol that Kafka doesn't know": ["listeners-not-understood"],
    "ssl.client.auth is neither required, requested nor none": ["setting-not-understood"],
    "a byte order mark before the first line": ["process-roles-wrong", "setting-unknown"],
    "a file in UTF-16": [
        "process-roles-wrong", "node-id-wrong", "log-directory-not-formatted", "line-without-key",
    ],
    "lines that end with CR and LF": [],
    "an escape that is half of a surrogate pair": [],
    "a comment behind a value": ["setting-not-understood"],
    "TLS with PEM stores": [],
    "SASL by PLAIN": [],
    "a key store that is not there, and no listener with TLS": [],
    "a static voter with a log": [],
    "a first voter of a dynamic quorum": [],
    "a combined node with two log directories": [],
    "metadata.log.dir beside log.dirs": [],
}  # fmt: skip


@pytest.mark.parametrize("case", FOUND)
def test_a_case_has_its_rule_and_no_other(tmp_path: Path, case: str) -> None:
    place = Place(tmp_path)
    CASES[case](place)
    assert rules(judged(place.properties)) == FOUND[case]


def three(folder: Path, **of_third: object) -> list[Place]:
    """Three static voters, of which the last has other settings."""
    places = [Place(folder / str(node), 19093 + node, 19193 + node) for node in (1, 2, 3)]
    named = ",".join(f"{node}@127.0.0.1:{19093 + node}" for node in (1, 2, 3))
    for node, place in enumerate(places, 1):
        place.folder.mkdir(parents=True)
        more = of_third if node == 3 else {}
        place.configure(**{"node_id": node, "controller_quorum_voters": named, **more})
        place.format(place.data, node_id=node, directory=node - 1)
    return places


def properties(places: list[Place]) -> list[Path]:
    return [place.properties for place in places]


def test_a_majority_of_starting_voters_elects_a_leader(tmp_path: Path) -> None:
    places = three(tmp_path, num_io_threads="many")
    starts = judged(*properties(places))
    assert [one.start for one in starts.nodes] == [Start.STARTS, Start.STARTS, Start.REFUSES]
    assert (starts.quorum.election, starts.quorum.joining) == (Election.ELECTS, {1, 2})
    starts = judged(*properties(places)[1:])
    assert (starts.quorum.election, starts.quorum.not_given) == (Election.NEEDS_OTHERS, {1})
    place = places[1]
    place.configure(node_id=2, num_io_threads="many")
    assert judged(*properties(places)).quorum.election is Election.NEVER


def test_a_voter_formatted_for_another_cluster_never_joins(tmp_path: Path) -> None:
    places = three(tmp_path)
    meta = places[2].data / "meta.properties"
    meta.write_text(meta.read_text().replace("wK4Z31XJSxyKdzPVlZaFsg", ANOTHER))
    starts = judged(*properties(places))
    assert rules(starts) == ["disk-of-another-cluster"]
    assert starts.nodes[2].start is Start.NEVER_JOINS
    assert starts.quorum.election is Election.ELECTS


def test_two_nodes_of_one_id_are_named(tmp_path: Path) -> None:
    places = three(tmp_path, node_id=2)
    assert "duplicate-identity" in rules(judged(*properties(places)))


def test_bootstrap_servers_that_are_no_given_controller_are_a_warning(tmp_path: Path) -> None:
    places = three(tmp_path)
    broker = Place(tmp_path / "4", 19300, 19301)
    broker.folder.mkdir()
    servers = "127.0.0.1:19999"
    broker.broker(controller_quorum_voters="", controller_quorum_bootstrap_servers=servers)
    broker.format(broker.data, node_id=2, directory=0)
    found = rules(judged(*properties(places), broker.properties))
    assert "no-controller-at-address" in found


def test_unknown_keys_are_told_with_line_and_nearest_name(tmp_path: Path) -> None:
    place = Place(tmp_path)
    CASES["unknown keys, a topic's key, comments and a long line"](place)
    (node,) = judged(place.properties).nodes
    first, second = (one.finding for one in node.obstacles)
    assert first.message == "line 10: num.io.thread: num.io.threads may be meant"
    assert (
        second.message == "line 11: retention.ms is a topic's setting; a node's is log.retention.ms"
    )
    place.configure(more="acme.reporter.url=http://x\nzookeeper.connect=zk:2181\n")
    (node,) = judged(place.properties).nodes
    told = [(one.finding.rule.id, one.finding.message) for one in node.obstacles]
    assert told == [
        ("setting-of-a-plugin", "line 9: acme.reporter.url"),
        ("setting-unknown", "line 10: zookeeper.connect: Kafka 4.0 has removed it"),
    ]
    (older,) = judged(place.properties, release=(3, 9)).nodes
    assert [one.finding.rule.id for one in older.obstacles] == ["setting-of-a-plugin"]


def test_a_file_is_named_by_line_whatever_it_holds(tmp_path: Path) -> None:
    place = Place(tmp_path)
    CASES["a byte order mark before the first line"](place)
    (node,) = judged(place.properties).nodes
    told = [one.finding.message for one in node.obstacles]
    assert told == [
        "process.roles is missing",
        "line 1: the file begins with a byte order mark, which Kafka takes for the first letters "
        "of the name",
    ]
    place.properties.write_bytes(bytes(range(256)) * 40)
    (node,) = judged(place.properties).nodes
    (of_text,) = (one for one in node.obstacles if one.finding.rule.id == "line-without-key")
    assert "has a zero byte: the file is UTF-16, or no text" in of_text.finding.message


def test_names_of_listeners_in_capital_letters_are_told(tmp_path: Path) -> None:
    place = Place(tmp_path)
    name = "listener.name.CONTROLLER.ssl.keystore.location"
    place.configure(**{name: "/k"})
    place.format(place.data)
    (node,) = judged(place.properties).nodes
    (only,) = (one.finding for one in node.obstacles)
    told = f"line 9: {name}: Kafka reads these names in small letters only"
    assert (only.rule.id, only.message) == ("setting-unknown", told)


def test_a_value_of_a_config_provider_is_not_judged(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.format(place.data)
    place.configure(more="config.providers=file\n", num_io_threads="${file:/secrets:threads}")
    assert rules(judged(place.properties)) == []
    name = "ssl.keystore.location"
    given = {"a key store that is not there": name, "SASL without a login module": MODULE}
    for case, setting in given.items():
        own = Place(tmp_path / setting)
        own.folder.mkdir()
        CASES[case](own)
        more = f"config.providers=file\n{setting}=${{file:/secrets:it}}\n"
        own.properties.write_text(own.properties.read_text() + more)
        assert {*rules(judged(own.properties))} <= {"setting-twice", "controller-security-differs"}


def test_a_disk_that_went_and_another_in_its_place(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.combined(log_dirs=f"{place.data},{place.second}")
    place.wrote(place.format(place.data))
    assert rules(judged(place.properties)) == ["log-directory-not-formatted"]
    place.second.mkdir()
    (place.second / FOLDER).mkdir()
    assert set(rules(judged(place.properties))) == {"log-directory-not-formatted"}

"""Kafka's own server.properties is read by its own names; what can't be meant is named."""

import pytest

from replica.errors import UsageError
from replica.model.keys import METADATA_TOPIC_ID, ReplicaId, ReplicaKey
from replica.model.voters import Endpoint
from replica.node.listeners import Listener
from replica.node.properties import read_properties
from replica.raft.config import Config
from replica.raft.snapshots import SnapshotPolicy
from tests.replica.node.server_properties import settings


def test_a_minimal_file_has_kafkas_defaults(tmp_path):
    found = settings(tmp_path)
    default = Config("c", None)
    config = found.config(ReplicaId("c", 1, "d" * 21 + "A"))
    assert found.listeners == (Listener("CONTROLLER", "127.0.0.1", 9093),)
    assert config.local.endpoints == (Endpoint("CONTROLLER", "127.0.0.1", 9093),)
    assert config.election_timeout_ms == default.election_timeout_ms
    assert config.fetch_timeout_ms == default.fetch_timeout_ms
    assert config.retention_bytes == default.retention_bytes
    assert found.core.append_linger_ms == 25
    assert config.append_when_idle
    assert found.topic.id == METADATA_TOPIC_ID
    assert found.partition_folder == "/var/lib/node1/__cluster_metadata-0"
    assert found.unknown == ()


@pytest.mark.parametrize("written", ["\\u0000", "\0"])
@pytest.mark.parametrize("key", ["ssl__keystore__location", "log__dirs"])
def test_a_zero_byte_is_refused_by_file_and_key(tmp_path, key, written):
    place = f"{tmp_path / 'server.properties'}: {key.replace('__', '.')}: a zero byte"
    with pytest.raises(UsageError, match=place):
        settings(tmp_path, **{key: f"/a{written}b"})


def test_the_refusal_of_a_zero_byte_is_one_line_whatever_the_key_is(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text("a\\nkey=\0\n")
    with pytest.raises(UsageError) as refused:
        read_properties(str(path))
    assert str(refused.value).startswith(f"{path}: a\\nkey: a zero byte")
    assert "\n" not in str(refused.value)


def test_a_leader_can_be_told_to_wait_for_the_end_of_the_linger_as_kafkas_does(tmp_path):
    found = settings(tmp_path, kraftlake__append__when__idle="false")
    assert not found.config(ReplicaId("c", 1, "d" * 21 + "A")).append_when_idle


def test_every_quorum_setting_reaches_the_core(tmp_path):
    found = settings(
        tmp_path,
        controller__quorum__election__timeout__ms="11",
        controller__quorum__election__backoff__max__ms="12",
        controller__quorum__fetch__timeout__ms="13",
        controller__quorum__request__timeout__ms="1400",
        controller__quorum__retry__backoff__ms="15",
        metadata__max__retention__bytes="16",
        metadata__max__retention__ms="17",
    )
    config = found.config(ReplicaId("c", 1))
    assert (config.election_timeout_ms, config.election_backoff_max_ms) == (11, 12)
    assert (config.fetch_timeout_ms, config.request_timeout_ms) == (13, 1400)
    assert (config.retry_backoff_ms, config.retention_bytes, config.retention_ms) == (15, 16, 17)


def test_fetch_sizes_have_kafkas_names_and_defaults(tmp_path):
    """KIP-1219. The internal key is of Kafka up to 4.2: what a leader reads for one fetch."""
    config = settings(tmp_path).config(ReplicaId("c", 1))
    assert (config.fetch_max_bytes, config.fetch_snapshot_max_bytes) == (1048576, 1048576)
    found = settings(
        tmp_path,
        controller__quorum__fetch__max__bytes="18",
        controller__quorum__fetch__snapshot__max__bytes="19",
        internal__metadata__max__fetch__size__in__bytes="20",
    )
    config = found.config(ReplicaId("c", 1))
    assert (config.fetch_max_bytes, config.fetch_snapshot_max_bytes) == (18, 19)
    assert config.response_max_bytes == 20
    assert found.unknown == ()


@pytest.mark.parametrize("key", ["fetch__max__bytes", "fetch__snapshot__max__bytes"])
def test_a_fetch_asks_for_a_byte_at_least(tmp_path, key):
    named = key.replace("__", ".")
    with pytest.raises(UsageError, match=f"controller.quorum.{named}: 0 is not between 1 and"):
        settings(tmp_path, **{f"controller__quorum__{key}": "0"})


def test_cordoned_directories_are_known_and_mean_nothing_to_a_metadata_log(tmp_path):
    """KIP-1066: no new partitions come there, and a node's metadata partition isn't a new one."""
    assert settings(tmp_path, cordoned__log__dirs="*").unknown == ()


def test_a_node_joins_the_voters_only_where_it_is_told_to(tmp_path):
    key = "controller__quorum__auto__join__enable"
    for value, joins in ((None, False), ("false", False), ("true", True)):
        given = {} if value is None else {key: value}
        assert settings(tmp_path, **given).config(ReplicaId("c", 1)).auto_join is joins


def test_static_voters_have_no_directory(tmp_path):
    found = settings(
        tmp_path,
        controller__quorum__bootstrap__servers=None,
        controller__quorum__voters="2@b:9094, 1@a:9093,3@[::1]:9095",
    )
    assert found.is_static
    assert [v.key for v in found.static_voters] == [ReplicaKey(n) for n in (1, 2, 3)]
    assert found.static_voters.voter(3).endpoints == (Endpoint("CONTROLLER", "::1", 9095),)


def test_a_bootstrap_server_has_an_id_that_no_node_has(tmp_path):
    found = settings(tmp_path, controller__quorum__bootstrap__servers="a:1,b:2")
    config = found.config(ReplicaId("c", 1))
    assert [found.bootstrap_address(name) for name in config.bootstrap_ids] == [("a", 1), ("b", 2)]
    assert all(name < -1 for name in config.bootstrap_ids)


def test_advertised_listeners_are_what_others_are_told(tmp_path):
    found = settings(
        tmp_path,
        listeners="CONTROLLER://0.0.0.0:9093,ADMIN://127.0.0.1:1",
        advertised__listeners="CONTROLLER://host1:9999",
        listener__security__protocol__map="CONTROLLER:SSL,ADMIN:PLAINTEXT",
        ssl__keystore__type="PEM",
        ssl__keystore__location="/etc/kraftlake/node1.pem",
    )
    assert found.advertised == (Endpoint("CONTROLLER", "host1", 9999),)
    assert [listener.protocol for listener in found.listeners] == ["SSL", "PLAINTEXT"]


def test_another_topic_is_opaque_and_keeps_its_whole_log(tmp_path):
    found = settings(
        tmp_path, kraftlake__topic__name="orders", kraftlake__topic__id="AAAAAAAAAAAAAAAAAAAAAg"
    )
    config = found.config(ReplicaId("c", 1))
    assert found.partition_folder == "/var/lib/node1/orders-0"
    assert (config.retention_bytes, config.retention_ms) == (-1, -1)


def test_keys_without_meaning_here_are_told(tmp_path):
    found = settings(tmp_path, num__partitions="3", auto__create__topics__enable="false")
    assert found.unknown == ("auto.create.topics.enable", "num.partitions")


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("node__id", None, "node.id: missing"),
        ("node__id", "one", "node.id: 'one' is no whole number"),
        ("node__id", "3000000000", "node.id: 3000000000 is not between"),
        ("log__dirs", None, "log.dirs: missing"),
        ("listeners", "CONTROLLER:9093", "listeners: 'CONTROLLER:9093' is not NAME://host:port"),
        ("listeners", "CONTROLLER://h:99999", "listeners: 'h:99999' is not host:port"),
        ("listeners", "A://h:1,A://h:2", "listeners: a listener's name occurs twice"),
        ("listeners", "OTHER://h:1", "none of CONTROLLER (controller.listener.names) is there"),
        ("listeners", "CONTROLLER://0.0.0.0:1", "can't connect to a wildcard"),
        ("listener__security__protocol__map", "CONTROLLER:TLS", "expected one of PLAINTEXT, SSL"),
        ("controller__quorum__voters", "1@h", "controller.quorum.voters: 'h' is not host:port"),
        ("controller__quorum__voters", "h:1", "'h:1' is not id@host:port"),
        ("controller__quorum__voters", "1@h:1,1@g:1", "voter 1 occurs twice"),
        ("controller__quorum__bootstrap__servers", None, "name the quorum by it"),
        ("controller__quorum__fetch__timeout__ms", "0", "0 is not between 1 and"),
        ("kraftlake__topic__name", "orders", "kraftlake.topic.id: missing"),
        ("kraftlake__topic__id", "AAAAAAAAAAAAAAAAAAAAAg", "has a fixed id"),
    ],
)
def test_a_wrong_value_is_refused_by_file_and_key(tmp_path, key, value, said):
    with pytest.raises(UsageError) as caught:
        settings(tmp_path, **{key: value})
    assert str(caught.value).startswith(str(tmp_path / "server.properties"))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(UsageError, match=r"No such file.*name a server.properties file"):
        read_properties(str(tmp_path / "none"))


def test_a_broken_escape_names_file_and_byte(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text("node.id=1\nlog.dirs=\\uXY\n")
    with pytest.raises(UsageError, match=r"server.properties: byte 10: bad escape"):
        read_properties(str(path))


BYTES = "metadata.log.max.record.bytes.between.snapshots".replace(".", "__")
OLDER_BYTES = "metadata.snapshot.min.new_records.size".replace(".", "__")
RATIO = "metadata.snapshot.min.changed_records.ratio".replace(".", "__")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, SnapshotPolicy()),
        ({BYTES: "7"}, SnapshotPolicy(7)),
        ({RATIO: "0.25"}, SnapshotPolicy(min_changed_ratio=0.25)),
        ({RATIO: "0.25", BYTES: "7"}, SnapshotPolicy(7, min_changed_ratio=0.25)),
        ({OLDER_BYTES: "7"}, SnapshotPolicy(7, min_changed_ratio=0.5)),
        ({OLDER_BYTES: "7", BYTES: "7"}, SnapshotPolicy(7, min_changed_ratio=0.5)),
    ],
)
def test_the_snapshot_policy_of_kip_630_is_chosen_by_its_names(tmp_path, given, expected):
    found = settings(tmp_path, **given)
    assert found.snapshots == expected
    assert found.unknown == ()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({RATIO: "half"}, "ratio: 'half' is no number"),
        ({RATIO: "1.5"}, "ratio: 1.5 is not between 0 and 1"),
        ({RATIO: "nan"}, "ratio: nan is not between 0 and 1"),
        ({OLDER_BYTES: "7", BYTES: "8"}, "new_records.size: 7, but .* is 8: leave one out"),
    ],
)
def test_a_snapshot_policy_that_can_not_be_meant_is_named(tmp_path, given, why):
    with pytest.raises(UsageError, match=why):
        settings(tmp_path, **given)


def test_the_lag_of_the_log_start_chooses_kip_630s_policy_for_metadata_alone(tmp_path):
    replica = ReplicaId("c", 1)
    lag = {"metadata__start__offset__lag__time__max__ms": "5000"}
    assert settings(tmp_path).config(replica).start_lag_ms is None
    assert settings(tmp_path, **lag).config(replica).start_lag_ms == 5000
    other = {"kraftlake__topic__name": "orders", "kraftlake__topic__id": "B" * 21 + "A"}
    assert settings(tmp_path, **lag, **other).config(replica).start_lag_ms is None


def test_the_drafts_api_key_is_a_free_one(tmp_path):
    key = "kraftlake__fetch__quorum__records__api__key"
    assert settings(tmp_path).draft_key is None
    assert settings(tmp_path, **{key: "1000"}).draft_key == 1000
    with pytest.raises(
        UsageError, match=r"api\.key: API key 1 can't be that of FetchQuorumRecords"
    ):
        settings(tmp_path, **{key: "1"})

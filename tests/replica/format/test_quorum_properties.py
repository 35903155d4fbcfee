"""The configured voters, as a line of Kafka's server.properties has them."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.errors import CorruptDataError, DataError
from replica.format.damage import DamageKind
from replica.format.directory import read_directory
from replica.format.quorum_properties import ConfiguredVoter, decode

STATIC = b"""# a controller
process.roles=controller
controller.quorum.voters = 3@c3:9093, 1@10.0.0.1:9093,\\
   2@[::1]:9094
"""


def test_the_configured_voters_are_sorted_by_id():
    assert decode(STATIC) == (
        ConfiguredVoter(1, "10.0.0.1", 9093),
        ConfiguredVoter(2, "::1", 9094),
        ConfiguredVoter(3, "c3", 9093),
    )


@pytest.mark.parametrize("data", [b"", b"node.id=1\n", b"controller.quorum.voters=\n"])
def test_a_quorum_that_keeps_its_voters_in_the_log_configures_none(data: bytes):
    assert decode(data) == ()


def test_the_last_of_two_lines_counts_as_it_does_for_java():
    twice = b"controller.quorum.voters=1@a:1\ncontroller.quorum.voters=2@b:2\n"
    assert [voter.voter_id for voter in decode(twice)] == [2]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"1@a", "'1@a' is not id@host:port"),
        (b"x@a:1", "is not id@host:port"),
        (b"1@a:70000", "70000 is out of range"),
        (b"1@a:1,1@b:1", "names a voter twice"),
    ],
)
def test_a_malformed_voter_is_refused_with_the_byte_of_its_line(value: bytes, why: str):
    with pytest.raises(CorruptDataError, match=why) as raised:
        decode(b"a=b\ncontroller.quorum.voters=" + value)
    assert raised.value.position == 4


@given(st.binary(max_size=200))
def test_any_bytes_give_voters_or_an_error_with_a_byte(data: bytes):
    try:
        voters = decode(b"controller.quorum.voters=" + data)
    except DataError as error:
        voters, place = (), error.position
        assert place is not None
    assert list(voters) == sorted(voters)


def test_a_copy_beside_meta_properties_is_part_of_the_directory(data: Path, tmp_path: Path):
    node = Path(shutil.copytree(data / "kafka-3.7.2-static/final/1", tmp_path / "1"))
    without = read_directory(str(node / "__cluster_metadata-0"))
    assert without.configured_voters is None
    (node / "quorum.properties").write_bytes(STATIC)
    found = read_directory(str(node / "__cluster_metadata-0"))
    assert found.configured_voters is not None
    assert [voter.voter_id for voter in found.configured_voters] == [1, 2, 3]
    assert "quorum.properties" in [file.path for file in found.files]
    (node / "quorum.properties").write_bytes(b"controller.quorum.voters=?\n")
    broken = read_directory(str(node / "__cluster_metadata-0"))
    (damage,) = broken.damages
    assert (damage.file, damage.kind) == ("quorum.properties", DamageKind.CONTENT)

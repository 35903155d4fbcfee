"""The file of SCRAM credentials: what a line says, and how a wrong one is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.errors import UnreadableFileError, UsageError
from replica.node.security.scram_file import line_for, read_credentials
from replica.wire.sasl import scram

GOOD = json.loads(line_for("ann", "SCRAM-SHA-256", "pencil", 4096))


def written(tmp_path, *lines):
    path = tmp_path / "scram"
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(TEXT, TEXT)
def test_a_line_of_credentials_verifies_a_password_without_holding_it(
    tmp_path_factory, name, password
):
    folder = tmp_path_factory.getbasetemp()
    lines = [line_for(name, mechanism, password, 4096) for mechanism in scram.HASHES]
    path = written(folder, "# users", "", *lines)
    for mechanism, hash_name in scram.HASHES.items():
        kept = read_credentials(path)[mechanism][name]
        assert kept == scram.credential(hash_name, password, kept.salt, 4096)


def test_the_same_password_has_another_line_each_time():
    lines = {line_for("ann", "SCRAM-SHA-512", "pencil", 8192) for _ in range(3)}
    assert len(lines) == 3
    assert not any("pencil" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ann", "PLAIN", "pencil", 4096), "expected SCRAM-SHA-256 or SCRAM-SHA-512"),
        (("ann", "SCRAM-SHA-256", "pencil", 4095), "expected a number between 4096 and 16384"),
        (("ann", "SCRAM-SHA-256", "pencil", 16385), "expected a number between 4096 and 16384"),
        (("", "SCRAM-SHA-256", "pencil", 4096), "a user needs a name and a password"),
        (("ann", "SCRAM-SHA-256", "", 4096), "a user needs a name and a password"),
    ],
)
def test_a_user_that_the_credentials_file_cant_hold_is_refused(arguments, said):
    with pytest.raises(UsageError, match=said):
        line_for(*arguments)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ann:secret", "not a JSON object"),
        ('["secret"]', "not a JSON object"),
        (json.dumps(GOOD | {"name": ""}), "name: missing"),
        (json.dumps(GOOD | {"mechanism": "secret"}), "mechanism: expected SCRAM-SHA-256"),
        (json.dumps(GOOD | {"iterations": 100}), "iterations: expected a number from 4096 on"),
        (json.dumps(GOOD | {"iterations": True}), "iterations: expected a number from 4096 on"),
        (json.dumps(GOOD | {"salt": "secret!"}), "salt: not base64"),
        (json.dumps(GOOD | {"salt": 7}), "salt: not base64"),
        (json.dumps(GOOD | {"storedKey": "c2VjcmV0"}), "storedKey: 32 bytes are expected"),
        (json.dumps({**GOOD, "serverKey": ""}), "serverKey: 32 bytes are expected"),
    ],
)
def test_a_wrong_line_is_named_by_file_and_number_and_not_quoted(tmp_path, line, said):
    path = written(tmp_path, json.dumps(GOOD), line)
    with pytest.raises(UsageError) as caught:
        read_credentials(path)
    assert str(caught.value).startswith(f"{path}: line 2: {said}")
    assert "secret" not in str(caught.value)


def test_a_user_has_one_line_for_each_mechanism(tmp_path):
    with pytest.raises(UsageError, match="line 2: a second SCRAM-SHA-256 of the same user"):
        read_credentials(written(tmp_path, json.dumps(GOOD), json.dumps(GOOD)))


def test_a_file_that_cant_be_read_is_named(tmp_path):
    with pytest.raises(UnreadableFileError, match=r"scram: No such file"):
        read_credentials(str(tmp_path / "scram"))
    (tmp_path / "scram").write_bytes(b"ab\xff")
    with pytest.raises(UsageError, match="scram: byte 2 is not UTF-8"):
        read_credentials(str(tmp_path / "scram"))

"""Configs, features, ACLs, SCRAM credentials, quotas, tokens, producer ids, ZooKeeper migration."""

from __future__ import annotations

import json

import pytest

from replica.metadata.record import MetadataRecord, new_record
from replica.metadata.redact import Redactor
from tests.replica.metadata.image.made import ACL, after, config, feature, held, offsets


def kept(kind: str, *records: MetadataRecord):  # type: ignore[no-untyped-def]
    image, refusals = after(*records)
    assert not refusals
    return held(image, kind)


def test_a_config_of_null_is_removed_and_the_empty_text_is_a_value() -> None:
    assert kept("config", config("1"), config("")) == {
        '[2,"orders","retention.ms"]': {
            **{"resourceType": 2, "resourceName": "orders", "name": "retention.ms"},
            "value": "",
        }
    }
    assert kept("config", config("1"), config(None), config(None)) == {}


def test_config_keys_are_compact_and_unescaped() -> None:
    (key,) = kept("config", config("1", name='größe "x"'))
    assert key == '[2,"orders","größe \\"x\\""]'


def test_a_feature_level_of_0_removes_all_but_metadata_version() -> None:
    records = feature("group.version", 1), feature("metadata.version", 7)
    zero = feature("group.version", 0), feature("metadata.version", 0)
    assert kept("feature", *records, *zero) == {
        "metadata.version": {"name": "metadata.version", "featureLevel": 0}
    }


def test_kraft_version_is_no_feature_of_the_image() -> None:
    assert kept("feature", feature("kraft.version", 1)) == {}


def acl(host: str = "*", code: int = 3) -> MetadataRecord:
    fields = {"id": ACL, "resourceType": code, "principal": "User:alice", "host": host}
    return new_record("ACCESS_CONTROL_ENTRY_RECORD", 0, fields)


REMOVE_ACL = new_record("REMOVE_ACCESS_CONTROL_ENTRY_RECORD", 0, {"id": ACL})


def test_an_acl_is_replaced_by_id_and_keeps_codes_of_a_later_kafka() -> None:
    entry = kept("acl", acl("a"), acl("b", code=99))[ACL]
    assert (entry["host"], entry["resourceType"]) == ("b", 99)


def test_removing_an_acl_twice_is_refused_with_the_first_removal() -> None:
    image, refusals = after(REMOVE_ACL, acl(), REMOVE_ACL, REMOVE_ACL)
    assert not held(image, "acl")
    assert [(r.offset, r.because) for r in refusals] == [(0, ()), (3, (2,))]


def scram(user: str, mechanism: int = 1) -> MetadataRecord:
    fields = {"name": user, "mechanism": mechanism, "salt": b"\x00\xff", "iterations": 4096}
    return new_record("USER_SCRAM_CREDENTIAL_RECORD", 0, fields)


def test_scram_credentials_go_by_user_and_mechanism() -> None:
    remove = new_record("REMOVE_USER_SCRAM_CREDENTIAL_RECORD", 0, {"name": "alice", "mechanism": 1})
    found = kept("scram", remove, scram("alice"), scram("alice", 2), remove, scram("bob"))
    assert list(found) == ['["alice",2]', '["bob",1]']
    assert found['["bob",1]']["salt"] == "AP8="


def quota(value: float, *entity: tuple[str, str | None], remove: bool = False) -> MetadataRecord:
    parts = tuple({"entityType": kind, "entityName": name} for kind, name in entity)
    fields = {"entity": parts, "key": "k", "value": value, "remove": remove}
    return new_record("CLIENT_QUOTA_RECORD", 0, fields)


def test_a_quota_s_entity_is_a_map_in_any_order() -> None:
    one, other = ("user", "alice"), ("client-id", None)
    found = kept("client_quota", quota(1.0, one, other), quota(2.5, other, one))
    assert list(found) == ['[{"client-id":null,"user":"alice"},"k"]']
    assert [value["value"] for value in found.values()] == [2.5]
    assert not kept("client_quota", quota(1.0, one, other), quota(0.0, other, one, remove=True))


def test_the_default_entity_is_not_the_one_of_the_empty_name() -> None:
    found = kept("client_quota", quota(1.0, ("user", None)), quota(2.0, ("user", "")))
    assert list(found) == ['[{"user":""},"k"]', '[{"user":null},"k"]']


def test_quotas_differ_as_java_s_doubles_do() -> None:
    def image(value: float):  # type: ignore[no-untyped-def]
        return after(quota(value, ("user", "a")))[0]

    assert image(float("nan")) == image(float("nan"))
    assert image(0.0) != image(-0.0)
    (entity,) = image(float("nan")).entities()
    assert json.loads(entity.value)["value"] == "NaN"


def token(*renewers: str, owner: str = "User:o", requester: str = "User:r") -> MetadataRecord:
    fields = {"tokenId": "t", "owner": owner, "requester": requester, "renewers": renewers}
    return new_record("DELEGATION_TOKEN_RECORD", 0, fields)


@pytest.mark.parametrize(
    "wrong", [token("alice"), token(owner=""), token("User:a", requester="alice")]
)
def test_a_token_of_somebody_who_is_no_principal_is_refused(wrong: MetadataRecord) -> None:
    image, (refusal,) = after(token("User:a"), wrong)
    assert image == after(token("User:a"))[0]
    assert refusal.offset == 1
    assert "TYPE:NAME" in refusal.reason


def test_a_token_s_renewers_are_a_set() -> None:
    assert after(token("User:a", "User:b"))[0] == after(token("User:b", "User:a"))[0]
    remove = new_record("REMOVE_DELEGATION_TOKEN_RECORD", 0, {"tokenId": "t"})
    assert kept("delegation_token", remove, token(), remove) == {}


def test_only_the_next_producer_id_is_state() -> None:
    def ids(broker_id: int, next_id: int) -> MetadataRecord:
        fields = {"brokerId": broker_id, "brokerEpoch": 9, "nextProducerId": next_id}
        return new_record("PRODUCER_IDS_RECORD", 0, fields)

    assert kept("producer_ids", ids(1, 1000), ids(2, 2000)) == {
        "": {"brokerId": -1, "brokerEpoch": -1, "nextProducerId": 2000}
    }
    assert kept("producer_ids", ids(1, 1000), ids(1, -1)) == {}


def test_the_state_of_the_zookeeper_migration_is_the_last_one_told() -> None:
    records = [
        new_record("ZK_MIGRATION_STATE_RECORD", 0, {"zkMigrationState": state}) for state in (1, 3)
    ]
    assert kept("zk_migration_state", *records) == {"": {"zkMigrationState": 3}}
    assert offsets(after(*records)[0]) == {("zk_migration_state", ""): 1}


@pytest.mark.parametrize("record", [scram("a"), quota(1.0, ("user", "a")), acl(), config("x")])
def test_a_record_that_repeats_an_entity_moves_its_offset(record: MetadataRecord) -> None:
    image, _ = after(record, record)
    assert set(offsets(image).values()) == {1}


def test_redacted_records_are_replayed_like_others_and_stay_redacted() -> None:
    records = scram("alice"), config("s3cret", name="ssl.keystore.password")
    hidden = [Redactor(b"key").redact(record)[0] for record in records]
    image, refusals = after(*hidden)
    assert not refusals
    assert [(e.kind, e.key) for e in image.entities()] == [
        (e.kind, e.key) for e in after(*records)[0].entities()
    ]
    assert held(image, "scram")['["alice",1]']["salt"].startswith("***:")
    assert not any("s3cret" in e.value for e in image.entities())

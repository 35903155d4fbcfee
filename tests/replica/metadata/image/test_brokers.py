"""Broker and controller registrations."""

from __future__ import annotations

import pytest

from replica.metadata.record import new_record
from tests.replica.metadata.image.made import (
    DIRECTORY,
    OTHER_DIRECTORY,
    after,
    broker,
    broker_change,
    config,
    held,
    offsets,
)

PLAIN = {"name": "PLAINTEXT", "host": "a", "port": 9092, "securityProtocol": 0}
TLS = {"name": "SSL", "host": "a", "port": 9093, "securityProtocol": 1}
UNREGISTER = new_record("UNREGISTER_BROKER_RECORD", 0, {"brokerId": 1, "brokerEpoch": 99})


def fence(epoch: int):  # type: ignore[no-untyped-def]
    return new_record("FENCE_BROKER_RECORD", 0, {"id": 1, "epoch": epoch})


def unfence(epoch: int):  # type: ignore[no-untyped-def]
    return new_record("UNFENCE_BROKER_RECORD", 0, {"id": 1, "epoch": epoch})


def the_broker(*records):  # type: ignore[no-untyped-def]
    image, refusals = after(*records)
    assert not refusals
    return held(image, "broker")["1"]


def test_an_old_registration_gets_the_defaults_of_newer_fields() -> None:
    registered = the_broker(broker(version=0, rack="r1"))
    assert registered["logDirs"] == []
    assert registered["inControlledShutdown"] is False
    assert registered["isMigratingZkBroker"] is False
    assert registered["rack"] == "r1"


def test_the_order_of_endpoints_and_directories_is_no_state() -> None:
    one = broker(endPoints=(PLAIN, TLS), logDirs=(DIRECTORY, OTHER_DIRECTORY))
    other = broker(endPoints=(TLS, PLAIN), logDirs=(OTHER_DIRECTORY, DIRECTORY))
    assert after(one)[0] == after(other)[0]


def test_of_two_endpoints_of_one_name_the_last_counts() -> None:
    twice = broker(endPoints=({**PLAIN, "port": 1}, PLAIN))
    assert the_broker(twice)["endPoints"] == [PLAIN]


def test_fencing_and_unfencing_need_the_registered_epoch() -> None:
    assert the_broker(broker(), unfence(10))["fenced"] is False
    assert the_broker(broker(), unfence(10), fence(10))["fenced"] is True
    image, (refusal,) = after(broker(), broker(epoch=11), unfence(10), unfence(11))
    assert held(image, "broker")["1"]["fenced"] is False
    assert refusal.because == (1,)
    assert refusal.reason == "broker 1 is registered with epoch 11, not 10"


def test_the_registration_explains_a_wrong_epoch_even_after_later_changes() -> None:
    _, (refusal,) = after(broker(), unfence(10), fence(9))
    assert refusal.because == (0,)


@pytest.mark.parametrize(("code", "fenced"), [(-1, False), (0, True), (1, True)])
def test_a_change_unfences_by_minus_one_and_fences_by_one(code: int, fenced: bool) -> None:
    assert the_broker(broker(), broker_change(fenced=code))["fenced"] is fenced


def test_unfencing_does_not_end_a_controlled_shutdown() -> None:
    records = broker(), broker_change(inControlledShutdown=1), broker_change(fenced=-1)
    assert the_broker(*records)["inControlledShutdown"] is True
    assert the_broker(*records, broker(epoch=11))["inControlledShutdown"] is False


def test_a_change_without_directories_leaves_them() -> None:
    registered = broker(logDirs=(DIRECTORY,))
    assert the_broker(registered, broker_change())["logDirs"] == [DIRECTORY]
    moved = the_broker(registered, broker_change(logDirs=(OTHER_DIRECTORY,)))
    assert moved["logDirs"] == [OTHER_DIRECTORY]


def test_cordoned_directories_are_unknown_until_the_broker_tells_them() -> None:
    assert the_broker(broker(version=3))["cordonedLogDirs"] is None
    assert the_broker(broker(cordonedLogDirs=()))["cordonedLogDirs"] == []
    cordoned = (OTHER_DIRECTORY, DIRECTORY)
    assert the_broker(broker(cordonedLogDirs=cordoned))["cordonedLogDirs"] == sorted(cordoned)


def test_a_change_without_cordoned_directories_leaves_them_and_an_empty_list_uncordons() -> None:
    registered = broker(cordonedLogDirs=(DIRECTORY,))
    assert the_broker(registered, broker_change())["cordonedLogDirs"] == [DIRECTORY]
    assert the_broker(registered, broker_change(cordonedLogDirs=()))["cordonedLogDirs"] == []
    both = broker_change(cordonedLogDirs=(OTHER_DIRECTORY, DIRECTORY))
    expected = sorted((DIRECTORY, OTHER_DIRECTORY))
    assert the_broker(registered, both)["cordonedLogDirs"] == expected


def test_a_change_that_changes_nothing_leaves_the_offset() -> None:
    image, _ = after(broker(), broker_change())
    assert offsets(image)["broker", "1"] == 0


@pytest.mark.parametrize("wrong", [broker_change(fenced=2), broker_change(inControlledShutdown=-1)])
def test_codes_that_kafka_does_not_know_refuse_the_change(wrong) -> None:  # type: ignore[no-untyped-def]
    image, (refusal,) = after(broker(), wrong)
    assert image == after(broker())[0]
    assert refusal.offset == 1


def test_unregistering_looks_at_no_epoch_and_keeps_the_configs() -> None:
    image, refusals = after(broker(), config("1", resource="1", resource_type=4), UNREGISTER)
    assert not refusals
    assert [e.kind for e in image.entities()] == ["config"]


def test_a_broker_that_is_gone_is_refused_with_its_removal() -> None:
    _, refusals = after(broker(), UNREGISTER, fence(10), broker_change(), UNREGISTER)
    assert [(r.offset, r.because) for r in refusals] == [(2, (1,)), (3, (1,))]
    assert {r.reason for r in refusals} == {"broker 1 is not registered"}
    _, (refusal,) = after(UNREGISTER, fence(10))
    assert refusal.because == ()


def test_a_broker_with_a_listener_without_a_name_is_refused_and_keeps_its_epoch() -> None:
    unnamed = broker(epoch=11, endPoints=(PLAIN, {**TLS, "name": ""}))
    image, refusals = after(broker(), unnamed, unfence(10))
    assert image == after(broker(), unfence(10))[0]
    assert [(r.offset, r.reason) for r in refusals] == [(1, "a listener of broker 1 has no name")]


def controller(ready: bool, *endpoints: dict[str, object]):  # type: ignore[no-untyped-def]
    fields = {"controllerId": 3, "zkMigrationReady": ready, "endPoints": endpoints}
    return new_record("REGISTER_CONTROLLER_RECORD", 0, fields)


@pytest.mark.parametrize("code", [-1, 4])
def test_an_unknown_security_protocol_is_refused_of_controllers_only(code: int) -> None:
    strange = {**PLAIN, "securityProtocol": code}
    image, (refusal,) = after(controller(True, PLAIN), controller(False, strange))
    assert image == after(controller(True, PLAIN))[0]
    assert refusal.reason == f"there is no security protocol {code}"
    assert the_broker(broker(endPoints=(strange,)))["endPoints"] == [strange]


def test_a_controller_is_unregistered_whether_it_is_registered_or_not() -> None:
    unregister = new_record("UNREGISTER_CONTROLLER_RECORD", 0, {"controllerId": 3})
    image, refusals = after(controller(True, PLAIN), unregister, unregister)
    assert not refusals
    assert list(image.entities()) == []


def test_a_controller_s_registration_replaces_the_one_before() -> None:
    image, _ = after(controller(True, PLAIN), controller(False, TLS, PLAIN))
    (registered,) = held(image, "controller").values()
    assert registered["zkMigrationReady"] is False
    assert registered["endPoints"] == [PLAIN, TLS]

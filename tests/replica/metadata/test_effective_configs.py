"""Which value of a config is in force: levels beat names, and a value that is hidden is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.metadata.effective_configs import (
    ALL_BROKERS,
    BROKER_RESOURCE,
    FILE,
    GROUP_RESOURCE,
    KAFKA,
    EffectiveConfig,
    Setting,
    Settings,
    of_broker,
    of_group,
    of_topic,
    settings_of,
)
from replica.metadata.image.state import TOPIC_RESOURCE
from replica.metadata.topic_configs import TOPIC_CONFIGS

RETENTION = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
MS = {"log.retention.ms": 1, "log.retention.minutes": 60_000, "log.retention.hours": 3_600_000}
WEEK_MS = 7 * 24 * 3_600_000


def _settings(*configs: tuple[int, str, str, str], **file: str) -> Settings:
    """The n-th config is set at offset n, in the ms n."""
    logged = [(*one[:3], Setting(one[3], n, n)) for n, one in enumerate(configs)]
    return settings_of(logged, {name.replace("_", "."): value for name, value in file.items()})


def _only(found: list[EffectiveConfig], name: str) -> EffectiveConfig:
    (one,) = (each for each in found if each.name == name)
    return one


def test_a_topic_without_settings_has_kafka_s_defaults() -> None:
    found = list(of_topic("t", _settings()))
    assert [one.name for one in found] == sorted(one.name for one in TOPIC_CONFIGS)
    assert {one.source for one in found} == {KAFKA}
    assert _only(found, "retention.ms").value == str(WEEK_MS)


def test_the_topic_beats_all_brokers_which_beat_the_file_which_beats_kafka() -> None:
    topic = (TOPIC_RESOURCE, "t", "retention.ms", "5")
    brokers = (BROKER_RESOURCE, "", "log.retention.hours", "2")
    file = {"log_retention_ms": "9"}
    one = _only(list(of_topic("t", _settings(brokers, topic, **file))), "retention.ms")
    assert (one.value, one.source, one.set_as, one.offset) == ("5", "topic t", "retention.ms", 1)
    hidden = ("all brokers: 7200000 (offset 0)", "server.properties: 9")
    assert one.instead_of == (*hidden, f"Kafka's default: {WEEK_MS}")
    one = _only(list(of_topic("other", _settings(brokers, topic, **file))), "retention.ms")
    assert (one.value, one.source) == (str(2 * MS["log.retention.hours"]), ALL_BROKERS)
    assert one.set_as == "log.retention.hours"
    one = _only(list(of_topic("other", _settings(topic, **file))), "retention.ms")
    assert (one.value, one.source, one.offset) == ("9", FILE, None)


def test_a_broker_that_sets_it_for_itself_has_a_row_unless_the_topic_sets_it() -> None:
    configs = (
        (BROKER_RESOURCE, "10", "log.retention.ms", "10"),
        (BROKER_RESOURCE, "9", "log.retention.ms", "9"),
        (BROKER_RESOURCE, "", "log.retention.ms", "1"),
    )
    rows = [one for one in of_topic("t", _settings(*configs)) if one.name == "retention.ms"]
    assert [(one.source, one.value) for one in rows] == [
        (ALL_BROKERS, "1"),
        ("broker 9", "9"),
        ("broker 10", "10"),
    ]
    own = (TOPIC_RESOURCE, "t", "retention.ms", "5")
    rows = [one for one in of_topic("t", _settings(*configs, own)) if one.name == "retention.ms"]
    assert [one.source for one in rows] == ["topic t"]


def test_a_config_that_no_release_knows_is_shown_without_a_default() -> None:
    own = (TOPIC_RESOURCE, "t", "plugin.x", "1")
    one = _only(list(of_topic("t", _settings(own))), "plugin.x")
    assert one.instead_of == ()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("", "1", "file")), st.sampled_from(RETENTION), st.integers(1, 9)
        ),
        min_size=1,
        max_size=9,
    )
)
def test_a_broker_s_retention_is_that_of_the_strongest_place_then_of_the_finest_unit(
    placed: list[tuple[str, str, int]],
) -> None:
    last = {(place, name): number for place, name, number in placed}
    logged = [
        (BROKER_RESOURCE, place, name, Setting(str(number)))
        for (place, name), number in last.items()
        if place != "file"
    ]
    file = {name: str(number) for (place, name), number in last.items() if place == "file"}
    settings = settings_of(logged, file)
    best = min(last, key=lambda one: (("1", "", "file").index(one[0]), RETENTION.index(one[1])))
    (found,) = of_broker(1, settings)
    assert (found.name, found.value) == (best[1], str(last[best]))
    assert len(found.instead_of) == len(last) - 1
    rows = [one for one in of_topic("t", settings) if one.name == "retention.ms"]
    assert rows[-1].value == str(last[best] * MS[best[1]])  # the last row is that of broker 1


def test_no_limit_has_no_unit() -> None:
    brokers = (BROKER_RESOURCE, "", "log.retention.hours", "-1")
    assert _only(list(of_topic("t", _settings(brokers))), "retention.ms").value == "-1"


def test_a_group_takes_the_brokers_value_until_it_has_its_own() -> None:
    brokers = (BROKER_RESOURCE, "", "group.consumer.session.timeout.ms", "50")
    others = (BROKER_RESOURCE, "", "group.max.size", "7")
    settings = _settings(brokers, others)
    (one,) = of_group("g", settings)
    assert (one.name, one.value, one.source) == ("consumer.session.timeout.ms", "50", ALL_BROKERS)
    assert one.set_as == "group.consumer.session.timeout.ms"
    own = (GROUP_RESOURCE, "g", "consumer.session.timeout.ms", "60")
    (one,) = of_group("g", _settings(brokers, others, own))
    assert (one.value, one.source) == ("60", "group g")


@pytest.mark.parametrize("broker", [1, 2])
def test_a_broker_shows_what_is_set_for_it_for_all_and_in_its_file(broker: int) -> None:
    configs = (
        (BROKER_RESOURCE, "1", "num.io.threads", "4"),
        (BROKER_RESOURCE, "", "num.io.threads", "2"),
        (TOPIC_RESOURCE, "t", "retention.ms", "5"),
    )
    found = list(of_broker(broker, _settings(*configs, broker_rack="a")))
    assert [one.name for one in found] == ["broker.rack", "num.io.threads"]
    expected = ("4", ("all brokers: 2 (offset 1)",)) if broker == 1 else ("2", ())
    assert (found[1].value, found[1].instead_of) == expected

"""The statements of kraftlake, compared with what the player did and Kafka acknowledged. There is a
function for each kind of statement; it yields each statement as right, unknown or wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from replica.doctor.quorum.log_ends import COPYING_MS
from tests.interop.recorder.answers import Answers, Row
from tests.interop.recorder.script import Shown
from tests.interop.recorder.story import DONE, STOP, Deed, Story

_FENCED_MS = 9_000
"""Twice a broker's session in ms. Running nodes have noticed the end of a broker after this
time."""
BEHIND_MS = COPYING_MS + 2_000
"""From this time on a log is shorter than a copy that was made a moment earlier, in ms. Before it
no file tells the two apart: a controller that is no broker leaves no record when it ends."""
_NEAR_MS = 6_000
"""The ms between an election and the moment at which a node was seen to know it: seven processes
share two cores."""
_NODES = re.compile(
    r"\b(?:[Nn]odes?|[Vv]oters?|[Bb]rokers?|[Cc]ontrollers?) ((?:\d+)(?:(?:, | and )\d+)*)"
)


class Is(Enum):
    RIGHT = "right"
    UNKNOWN = "unknown"
    WRONG = "wrong"


@dataclass(frozen=True)
class Statement:
    kind: str
    is_: Is
    text: str


Judged = Iterator[tuple[Is, str]]


def acknowledged_topics_are_there(story: Story, answers: Answers) -> Judged:
    there = story.acknowledged
    ids = {one["topicId"]: one["name"] for one in answers.entities("topic")}
    counts = dict.fromkeys(ids.values(), 0)
    for one in answers.entities("partition"):
        if one["topicId"] in ids:
            counts[ids[one["topicId"]]] += 1
    for name, partitions in there.topics.items():
        if name not in there.doubtful:
            yield _is(counts.get(name) == partitions), f"{name}: {partitions}, {counts.get(name)}"
    for name in there.deleted:
        if name not in there.doubtful:
            yield _is(name not in counts), f"{name} was deleted"
    known = {*there.topics, *there.deleted, *there.doubtful}
    for name in counts:
        yield _is(name in known or name.startswith("__")), f"{name} is invented"


def acknowledged_configs_are_there(story: Story, answers: Answers) -> Judged:
    there = story.acknowledged
    kinds = {2: "topics", 4: "brokers"}
    told: dict[str, dict[str, str]] = {}
    for one in answers.entities("config"):
        place = f"{kinds.get(one['resourceType'])} {one['resourceName']}"
        told.setdefault(place, {})[one["name"]] = one["value"]
    for place, configs in there.configs.items():
        if place.split(" ", 1)[1] in there.doubtful or (
            place == "brokers " and "default broker" in there.doubtful
        ):
            continue
        ours = dict(told.get(place, {}))
        if place == "brokers ":
            ours.pop("min.insync.replicas", None)  # Kafka sets it with eligible leader replicas
        yield _is(ours == configs), f"{place}: {configs}, told {ours}"


def acknowledged_rights_and_limits_are_there(story: Story, answers: Answers) -> Judged:
    there = story.acknowledged
    acls = {(one["principal"], one["resourceName"]) for one in answers.entities("acl")}
    for principal, topic, verb in there.acls:
        if f"{principal} {topic} {verb}" not in there.doubtful:
            yield _is((principal, topic) in acls), f"ACL {principal} {topic} {verb}"
    users = {one["name"] for one in answers.entities("scram")}
    for user in set(there.users):
        if f"scram {user}" not in there.doubtful:
            yield _is(user in users), f"SCRAM {user}: {users}"
    rates = {one["entity"][0]["entityName"]: one["value"]
             for one in answers.entities("client_quota")}  # fmt: skip
    for user, rate in there.quotas.items():
        if f"quota {user}" not in there.doubtful:
            yield _is(rates.get(user) == rate), f"quota {user}: {rate}, told {rates.get(user)}"


def the_state_is_what_kafka_described(story: Story, answers: Answers) -> Judged:
    """Where nothing was left wrong: the leader, replicas and in-sync replicas of each partition."""
    if not story.quiet:
        return
    names = {one["topicId"]: one["name"] for one in answers.entities("topic")}
    told = {}
    for one in answers.entities("partition"):
        if one["topicId"] in names:
            key = names[one["topicId"]], one["partitionId"]
            told[key] = one["leader"], tuple(one["replicas"]), tuple(sorted(one["isr"]))
    line = re.compile(r"Topic: (\S+)\s+Partition: (\d+)\s+Leader: (\S+)\s+Replicas: (\S*)\s+"
                      r"Isr: (\S*)")  # fmt: skip
    for name, number, leader, replicas, isr in line.findall(story.quiet):
        kafka = (-1 if leader == "none" else int(leader), _numbers(replicas),
                 tuple(sorted(_numbers(isr))))  # fmt: skip
        ours = told.get((name, int(number)))
        yield _is(ours == kafka), f"{name}-{number}: Kafka {kafka}, told {ours}"


def who_led_an_epoch_led_it(story: Story, answers: Answers) -> Judged:
    won = {one["leader_epoch"]: one for one in answers.events("election")}
    for sight in story.sights:
        event = won.get(sight.epoch)
        if event is None:
            denied = any(" before it had no winner" in one["detail"] for one in won.values()
                         if one["leader_epoch"] == sight.epoch + 1)  # fmt: skip
            yield (Is.WRONG if denied else Is.UNKNOWN), f"{sight}: no election of this epoch"
            continue
        is_led = event["name"] == f"node {sight.leader}"
        yield _is(is_led), f"{sight}, told {event['name']}"
        near = abs(event["at"] - sight.at) < _NEAR_MS
        yield (Is.RIGHT if near else Is.UNKNOWN), f"{sight}, told at {event['at']}"


def causes_of_elections_are_true(story: Story, answers: Answers) -> Judged:
    leaders = {one.epoch: one.leader for one in story.sights}
    for event in answers.events("election"):
        former = leaders.get(event["leader_epoch"] - 1)
        if former is None or event["cause"] in (None, "unknown", "first"):
            continue
        deeds = [one for one in story.deeds
                 if former in one.nodes and -60_000 < one.began - event["at"] < 1_000]  # fmt: skip
        ended = [one for one in deeds if _ends(one)]
        told = f"epoch {event['leader_epoch']}: {event['cause']}; {event['detail']}; {deeds}"
        match event["cause"]:
            case "leader-restarted":
                yield _is(bool(ended)), told
            case "leader-removed":
                yield _is(any(one.step == "RemoveVoter" for one in deeds)), told
            case "leader-resigned" | "leader-silent" | "leader-cut-off":
                yield (Is.RIGHT if deeds else Is.UNKNOWN), told
            case _:
                yield Is.UNKNOWN, told


def _ends(deed: Deed) -> bool:
    return deed.step in ("End", "Wipe", "Restore", "RemoveVoter")


def _broken(story: Story) -> set[int]:
    shown = set() if story.shown == "all directories" else {story.shown_node}
    return story.down_nodes | {int(one) for one in story.changed} | shown


def disks_that_went_back_are_those_that_were_changed(story: Story, answers: Answers) -> Judged:
    """The disks were changed in this round or an earlier one: a healed disk may
    have left traces."""
    changed = {node for one in story.deeds if one.step in ("Restore", "Wipe") for node in one.nodes}
    shown = {story.shown_node} if story.shown in ("one voter's is an older copy",) else set()
    for event in answers.events("went_back"):
        named = {int(one) for one in re.findall(r"\d+", event["name"])}
        yield _is(named <= changed | shown), f"{event}, changed {changed}, shown {shown}"


def no_acknowledged_record_is_called_lost(story: Story, answers: Answers) -> Judged:
    """Kafka's quorums keep what they committed: what a node will discard was never committed."""
    for one in answers.recover:
        if one["kind"] == "replica" and one["cluster_id"] == answers.cluster_id:
            yield _is(one["committed_lost"] == 0), f"{one}"


def what_a_safe_plan_relies_on_a_majority_has(story: Story, answers: Answers) -> Judged:
    """At most one voter of three is changed or not given, so no committed record is lost."""
    found = {one["answer"] for one in answers.recover
             if one["kind"] == "replica" and one["cluster_id"] == answers.cluster_id}  # fmt: skip
    is_safe = found == {"safe"}
    yield (Is.RIGHT if is_safe else Is.UNKNOWN), f"{found}: {_broken(story)}"


def nobody_else_is_accused(story: Story, answers: Answers) -> Judged:
    """The rule is about the verdict's facts that need action."""
    for text in answers.warnings:
        first = _NODES.search(text)  # it may name other nodes as those that are right
        named = set() if first is None else set(_numbers(re.sub(r", | and ", ",", first[1])))
        others = named - _broken(story)
        yield _is(not others), f"{sorted(others)} have nothing, broken {_broken(story)}: {text}"


def healthy_is_said_of_what_is_whole(story: Story, answers: Answers) -> Judged:
    broken = _broken(story)
    told = f"{answers.level}, broken {broken} ({story.left}, {story.shown}): {answers.warnings}"
    if not broken:
        yield _is(answers.level == "healthy"), told
    elif answers.level == "healthy":
        yield (Is.UNKNOWN if not _shows(story) else Is.WRONG), told
    elif story.shown == "all but one voter's" and not (story.down or story.changed):
        yield _is(answers.level == "incomplete"), told
    else:
        yield Is.RIGHT, told


def _shows(story: Story) -> set[int]:
    """The nodes for which the copies show that something is wrong: brokers that ended while a
    majority continued until they were fenced, logs that end long before the newest one, and disks
    that are empty, of another cluster, or not given."""
    found = {node for node in story.ends_early if story.lag_ms(node) > BEHIND_MS}
    found |= {int(node) for node, what in story.changed.items() if what == "wiped"}
    if story.shown_node >= 0 and story.shown != Shown.OLDER.value:
        found.add(story.shown_node)
    if story.has_majority:
        since = {one.node: story.copied - one.since for one in story.down}
        found |= {node for node, ms in since.items() if node in story.brokers and ms > _FENCED_MS}
    return found


def who_is_down_is_named(story: Story, answers: Answers) -> Judged:
    texts = [fact["text"] for fact in answers.verdict["facts"]]
    texts += [answers.verdict["headline"]]
    texts += [f"{one['what']}: {one['why']}" for one in answers.verdict["not_judged"]]
    named = {int(n) for text in texts for found in _NODES.findall(text)
             for n in re.findall(r"\d+", found)}  # fmt: skip
    shows = _shows(story)
    for node in sorted(_broken(story)):
        told = f"node {node} ({_what(story, node)}): {answers.level}, {texts}"
        if node in named:
            yield Is.RIGHT, told
        else:
            yield (Is.WRONG if node in shows else Is.UNKNOWN), told


def _what(story: Story, node: int) -> str:
    what = [one.how for one in story.down if one.node == node]
    what += [story.changed.get(str(node), "")]
    what += [story.shown] if story.shown_node == node else []
    return " ".join(what)


def a_safe_answer_held(story: Story, answers: Answers) -> Judged:
    """The rule is about what was done on the real cluster after an answer."""
    unseen = story.down_nodes - _shows(story)
    for what, answer, outcome, text in story.done:
        needs = re.search(r'"needs": \[(.*?)\], "order"', text)
        relies = set() if needs is None else {int(one) for one in re.findall(r"\d+", needs[1])}
        if answer == "safe" and relies & story.down_nodes:
            yield Is.UNKNOWN, f"{what} is {answer}, but relies on who is down: {text}"
        elif answer == "safe" and outcome != DONE and unseen and what.startswith(STOP):
            yield (
                Is.UNKNOWN,
                f"{what} is {answer}, no file shows {unseen} down: {outcome}",
            )
        elif answer == "safe":
            yield _is(outcome == DONE), f"{what} is {answer}: {outcome} {text}"
        else:
            yield Is.UNKNOWN, f"{what} is {answer}: {text}"


def records_are_those_of_kafka_s_dump(story: Story, answers: Answers) -> Judged:
    for node, differs in story.dumps.items():
        yield _is(not differs), f"node {node}: {differs}"


KINDS: tuple[Callable[[Story, Answers], Judged], ...] = (
    records_are_those_of_kafka_s_dump,
    acknowledged_topics_are_there,
    acknowledged_configs_are_there,
    acknowledged_rights_and_limits_are_there,
    the_state_is_what_kafka_described,
    who_led_an_epoch_led_it,
    causes_of_elections_are_true,
    disks_that_went_back_are_those_that_were_changed,
    no_acknowledged_record_is_called_lost,
    what_a_safe_plan_relies_on_a_majority_has,
    nobody_else_is_accused,
    healthy_is_said_of_what_is_whole,
    who_is_down_is_named,
    a_safe_answer_held,
)


def judged(story: Story, answers: Answers) -> list[Statement]:
    return [
        Statement(kind.__name__, is_, text)
        for kind in KINDS
        for is_, text in kind(story, answers)
    ]  # fmt: skip


def judged_in_order(stories: list[Story], events: list[Row]) -> list[Statement]:
    """The statements about captures in their order: whose disk is said to have gone back, that no
    node has discarded what was acknowledged, and who led."""
    last = stories[-1]
    changed = {n for one in last.deeds if one.step in ("Restore", "Wipe") for n in one.nodes}
    changed |= {one.shown_node for one in stories if "older" in one.shown}
    leaders = {one.epoch: one.leader for one in last.sights}
    found = []
    for event in events:
        named = {int(one) for one in re.findall(r"\d+", event["name"])}
        match event["event"]:
            case "went_back":
                holds, told = named <= changed, f"{event}, changed {changed}"
            case "truncation" | "divergence":
                holds, told = event["commitment"] == "superseded", f"{event}"
            case "election" if event["leader_epoch"] in leaders:
                leader = leaders[event["leader_epoch"]]
                holds, told = named == {leader}, f"{event}, seen {leader}"
            case _:
                continue
        found.append(Statement(f"captures_in_order_{event['event']}", _is(holds), told))
    return found


def _is(holds: bool) -> Is:
    return Is.RIGHT if holds else Is.WRONG


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(one) for one in text.split(",") if one)

"""The rules about nodes that refuse to start: `plan` stops none of them."""

from replica.doctor.check.catalogue import files, groups, partition_folders, snapshots
from replica.doctor.check.rule import rules_of


def test_each_rule_of_directories_by_which_kafka_always_refuses_to_start_says_so() -> None:
    """A colon and Kafka's words follow where it always refuses."""
    rules = rules_of(files, groups, partition_folders, snapshots)
    told = {one.id for one in rules if one.kafka.startswith("Refuses to start:")}
    assert {one.id for one in rules if one.keeps_from_starting} == told
    assert len(told) == 4

"""A step of a recovery plan, and the steps that are the same for each quorum."""

from __future__ import annotations

from dataclasses import dataclass

from replica.doctor.rehearsal import step as rehearsal
from replica.shell_text import Shell, line, noted

CONTROLLER_FILE = "config/controller.properties"
"""The path in Kafka's own archive. A comment in each command says where to put a node's own
file."""
COMBINED_FILE = "config/server.properties"
"""The same of a node that is a broker, too."""


@dataclass(frozen=True, slots=True)
class RecoverStep:
    """A step for a person. text: what to do. commands: lines for a shell; a # begins a comment.
    makes_stand_ins: whether the step copies the winner's log. plays: what a
    rehearsal plays in place of the step; empty where the step changes nothing, or its outcome is
    unknown."""

    text: str
    commands: tuple[Shell, ...]
    makes_stand_ins: bool = False
    plays: tuple[rehearsal.ScenarioStep, ...] = ()


FIND_OUT_WHY_NOBODY_LEADS = RecoverStep(
    "Look in the controllers' logs for what keeps voters from being elected, such as cluster ids "
    "that differ, or addresses at which no voter answers.",
    (
        noted(Shell("LOG_DIR=/var/lib/kafka/metadata"), "on each controller"),
        Shell('grep cluster.id "$LOG_DIR"/meta.properties'),
        noted(
            line("grep", "controller.quorum", CONTROLLER_FILE),
            "of a node that is a broker too: server.properties",
        ),
    ),
)
"""The last step where no log holds a record: there is nothing to go on with."""

RESTART_BROKERS = RecoverStep(
    "Restart the brokers, which may have applied records that are lost now, and compare the topics "
    "with what brokers hold before clients are let in.",
    (
        noted(
            Shell("bin/kafka-server-stop.sh --process-role=broker"),
            "on each broker that is no controller, one after another",
        ),
        noted(
            Shell("bin/kafka-server-start.sh -daemon config/broker.properties"),
            "on the same broker",
        ),
        Shell("BROKER=localhost:9092"),
        Shell('bin/kafka-topics.sh --bootstrap-server "$BROKER" --describe'),
        Shell('bin/kafka-log-dirs.sh --bootstrap-server "$BROKER" --describe'),
    ),
)
"""The last step where records may be lost that brokers have applied."""

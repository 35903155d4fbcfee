"""How an ingest hides secrets, by the options and by the lake's key."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from jobs.cli.commands.lake import IngestOptions
from jobs.cli.output import complain
from jobs.cli.redacting import check_shown
from pipelines.capture.known import seal_of
from pipelines.lake import Lake
from pipelines.lake.redaction import Redaction, lake_key, lake_key_file
from pipelines.lake.seal import OPEN, Seal
from replica.metadata.redact import Redactor


@dataclass(frozen=True, slots=True)
class Hiding:
    """How an ingest hides secrets."""

    keeps_secrets: bool = False
    """Whether secrets go into the lake as they are."""
    shown_configs: frozenset[str] = frozenset()
    """The names of configs that Kafka doesn't know and whose values are shown."""
    key: bytes = field(default=b"", repr=False)
    """The lake's redaction key; empty before `of_lake` has read it."""
    seal: Seal = OPEN
    """How the lake shows hashes. `of_lake` reads it together with the key."""

    @staticmethod
    def of(arguments: IngestOptions) -> Hiding:
        """The values of the options of `kraftlake ingest`. Raises UsageError where two options
        contradict each other."""
        shown = frozenset(arguments.show_config or ())
        check_shown(arguments.keep_secrets, shown)
        return Hiding(arguments.keep_secrets, shown)

    def of_lake(self, lake: Lake) -> Hiding:
        """A copy with the lake's key and seal. A lake without a key gets a new one.

        Raises UsageError where the lake hides secrets and this ingest would keep them.
        """
        key = lake_key(lake)
        seal = seal_of(lake, key, keeps_secrets=self.keeps_secrets)
        if not self.keeps_secrets and seal == OPEN:
            complain(
                f"ingest: {lake}: --keep-secrets began it: by the CRCs and "
                "hashes in it guesses of secrets can be checked; in a new lake they can't"
            )
        return replace(self, key=key, seal=seal)

    def redactor(self) -> Redactor | None:
        """The redactor with the lake's key, which may not be written yet; None where secrets are
        kept."""
        if self.keeps_secrets:
            return None
        return Redactor(self.key, self.shown_configs, keeps_crcs=self.seal == OPEN)

    def redaction(self, lake: Lake, spool: Path) -> Redaction | None:
        """What Spark's tasks need to redact; None where secrets are kept.

        This writes the lake's key file where the lake has none, and a copy of a remote lake's key
        into the spool.
        """
        key_file = lake_key_file(lake, self.key, spool)
        if self.keeps_secrets:
            return None
        return Redaction(key_file, self.shown_configs, keeps_crcs=self.seal == OPEN)

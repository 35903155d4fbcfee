"""Which partitions `dump` prints. A line says once of each partition that it is no metadata log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from jobs.directories.dump_files import DumpFile
from replica.check.partition import PartitionFolder, partition_at, partition_of_file
from replica.metadata.redact import Redactor


@dataclass
class DumpPartitions:
    """tell: prints a line on stderr. redactor: hides what may be secret; None hides nothing."""

    tell: Callable[[str], None]
    redactor: Redactor | None
    _known: dict[str, PartitionFolder] = field(default_factory=dict)

    def of(self, file: DumpFile) -> PartitionFolder:
        """The partition of a segment or snapshot."""
        place = file.path if file.log_folder is None else file.log_folder
        known = self._known.get(place)
        if known is None:
            known = self._known[place] = self._look(file)
            if not known.is_metadata:
                self.tell(f"{file.shown_log}: {known.what}: its records are {self._how(known)}")
        return known

    def hiding(self, partition: PartitionFolder) -> Redactor | None:
        """The redactor for the records of a partition that is no metadata log. None where they are
        printed as they are. A partition without name and topic id may be a metadata log that this
        release can't read, with secrets in it."""
        return None if partition.is_proven else self.redactor

    def _look(self, file: DumpFile) -> PartitionFolder:
        if file.log_folder is None:
            return partition_of_file(file.path)
        return partition_at(file.log_folder)

    def _how(self, partition: PartitionFolder) -> str:
        if self.hiding(partition) is None:
            return "printed as they are"
        return "hidden, --keep-secrets shows them"

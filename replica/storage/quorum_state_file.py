"""The file quorum-state (Kafka: FileQuorumStateStore)."""

from __future__ import annotations

from replica.errors import DataError
from replica.format import quorum_state
from replica.model.keys import NO_NODE, ZERO_UUID, ReplicaKey
from replica.model.stored import ElectionState
from replica.storage.filesystem import FileSystem, read_whole, replace_durably

_MAX_BYTES = 16 * 1024 * 1024


class QuorumStateFile:
    """The file quorum-state in the partition's folder. Only this class writes the file."""

    def __init__(self, files: FileSystem, folder: str) -> None:
        self._files = files
        self._folder = folder

    def read(self) -> ElectionState | None:
        """The state on the disk; None if the file was never written.

        The file is written again before the state is returned: after a failed sync of an earlier
        process, the bytes may be only in the machine's memory.

        Raises DataError, which names the file, for a damaged file. If a damaged file counted as no
        vote, this replica could vote twice in an epoch.
        """
        if quorum_state.FILE_NAME not in self._files.names(self._folder):
            return None
        path = f"{self._folder}/{quorum_state.FILE_NAME}"
        data = read_whole(self._files, path, _MAX_BYTES)
        try:
            state = quorum_state.decode(data)
        except DataError as error:
            reason = (
                f"{error.reason}; the vote it held is lost, so this replica must not vote again: "
                "restore the file, or keep this directory aside and format another one, which gets "
                "a new directory id"
            )
            raise type(error)(reason, error.position, path) from error
        replace_durably(self._files, self._folder, quorum_state.FILE_NAME, data)
        return ElectionState(
            state.leader_epoch,
            state.leader_id,
            _voted(state),
            state.version,
            state.current_voters,
        )

    def write(self, state: ElectionState) -> None:
        """Durable: write the state. After a crash the file holds either the old state or this
        state."""
        voted = state.voted or ReplicaKey(NO_NODE)
        content = quorum_state.new_state(
            version=state.kraft_version,
            leader_id=state.leader_id,
            leader_epoch=state.epoch,
            voted_id=voted.node_id,
            voted_directory_id=voted.directory_id,
            current_voters=state.voter_ids,
        )
        replace_durably(
            self._files, self._folder, quorum_state.FILE_NAME, quorum_state.encode(content)
        )


def _voted(state: quorum_state.QuorumState) -> ReplicaKey | None:
    if state.voted_id == NO_NODE:
        return None
    return ReplicaKey(state.voted_id, state.voted_directory_id or ZERO_UUID)

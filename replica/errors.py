"""The one error tree. A class says whose fault it is:

KraftlakeError
├── UsageError              the caller asked for something that can't be done (an option, a path)
├── DataError               bytes that are not what Kafka writes; carries path and position
│   ├── TruncatedDataError  the bytes end before the value does (a torn write, or a cut copy)
│   ├── CorruptDataError    a checksum, a length or a value contradicts the format
│   └── UnsupportedDataError  well formed, but of a version or type this release doesn't know
├── BusyError               another process is at work on the same
├── NoLeaderError           of the nodes that could be asked, none leads or knows who does
├── PeerError               another process on the network did not answer as asked
│   ├── UnreachablePeerError      no connection, or it broke, or no answer in time; may be temporary
│   │   └── UnansweredConnectionError   closed before it answered: TLS or SASL may be missing
│   ├── UnsupportedByPeerError    it lacks the request, or every version of it that we speak
│   └── AuthenticationError       one of the two doesn't accept who the other says it is
└── FileSystemError         the operating system or an object store refused; may be temporary
    ├── UnreadableFileError   to give the bytes
    └── UnwritableFileError   to take them: the disk is full, broken or read-only
"""

from __future__ import annotations


class KraftlakeError(Exception):
    """Root of every error this project raises on purpose. Its text is one line fit for a user."""

    is_temporary = False
    """Whether the same call may succeed later, though nobody has changed anything by hand."""


class UsageError(KraftlakeError):
    """The caller made a mistake. The message names the option or path, and says what to do."""


class DataError(KraftlakeError):
    """Bytes that are not what Kafka writes.

    reason: what is wrong, one line, without the place.
    position: byte offset of the offending value in its file or buffer, None where unknown.
    path: the file, None while decoding a bare buffer.
    """

    def __init__(self, reason: str, position: int | None = None, path: str | None = None) -> None:
        super().__init__(reason, position, path)
        self.reason = reason
        self.position = position
        self.path = path

    def __str__(self) -> str:
        place = "" if self.path is None else f"{self.path}: "
        where = "" if self.position is None else f"byte {self.position}: "
        return f"{place}{where}{self.reason}"

    def shifted(self, base: int) -> DataError:
        """The same error, with a position that counts from a byte `base` bytes earlier."""
        position = base if self.position is None else base + self.position
        return type(self)(self.reason, position, self.path)

    def in_file(self, path: str) -> DataError:
        """The same error, with the path of its file."""
        return type(self)(self.reason, self.position, path)


class TruncatedDataError(DataError):
    """The bytes end before the value does."""


class CorruptDataError(DataError):
    """A checksum, length or value contradicts the format."""


class UnsupportedDataError(DataError):
    """The bytes are well formed, but this release doesn't know their type or version."""


class BusyError(KraftlakeError):
    """Another process has just changed the same thing, or holds its lock. A later try finds that
    process done."""

    is_temporary = True


class NoLeaderError(KraftlakeError):
    """None of the nodes that could be asked is the leader, or knows it. A later try may find a
    leader. The text has the reason for each node."""

    is_temporary = True


class PeerError(KraftlakeError):
    """Another process did not answer as it was asked. The text begins with its host:port."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(address, reason)
        self.address = address
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.address}: {self.reason}"


class UnreachablePeerError(PeerError):
    """A connection could not be opened, or it broke, or brought no answer in time."""

    is_temporary = True


class UnansweredConnectionError(UnreachablePeerError):
    """The peer closed a connection before it answered a request. The peer may be stopping, or may
    want another security protocol or certificate than ours."""

    is_temporary = False


class MisroutedConnectionError(UnreachablePeerError):
    """The address now belongs to another node or cluster than the one that was meant."""


class UnsupportedByPeerError(PeerError):
    """The peer doesn't know the request, or no version of it that this release speaks."""


class AuthenticationError(PeerError):
    """A certificate, a password or a mechanism was refused. Another try won't help."""


class FileSystemError(KraftlakeError):
    """The operating system or an object store refused."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class UnreadableFileError(FileSystemError):
    """The operating system or an object store refused to give the bytes."""


class UnwritableFileError(FileSystemError):
    """The operating system refused to take bytes, or to say that they are safe.

    The content of the file is then unknown, even after a later call that succeeds, because a failed
    fsync forgets what it could not write. Only reading the file again shows its content.
    """

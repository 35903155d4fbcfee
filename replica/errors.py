"""All errors of kraftlake. The class of an error says whose fault it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager


class KraftlakeError(Exception):
    """The base class of all errors that kraftlake raises on purpose. The text is one line for
    users."""

    is_temporary = False
    """Whether the same call may succeed later without a change by hand."""


class UsageError(KraftlakeError):
    """The caller asked for something that can't be done. The message names the option or path and
    says what to do."""


class DataError(KraftlakeError):
    """Bytes are not what Kafka writes.

    reason: what is wrong, in one line, without the place.
    position: the byte of the file or buffer at which the wrong value begins; None if unknown.
    path: the file; None for a buffer without a file.
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
        """The same error, with its position counted from `base` bytes earlier."""
        position = base if self.position is None else base + self.position
        return type(self)(self.reason, position, self.path)

    def in_file(self, path: str) -> DataError:
        """The same error, with the name of its file."""
        return type(self)(self.reason, self.position, path)


class TruncatedDataError(DataError):
    """The bytes end before the value, as after a torn write or in an incomplete copy."""


class CorruptDataError(DataError):
    """A checksum, a length or a value contradicts the format."""


class UnsupportedDataError(DataError):
    """The bytes are well formed, but of a type or version that this release doesn't know."""


class BusyError(KraftlakeError):
    """Another process has changed the same data meanwhile, or holds its lock. A later try may
    succeed."""

    is_temporary = True


class NoLeaderError(KraftlakeError):
    """None of the nodes that could be asked leads, or knows the leader. A later try may find a
    leader. The text has the reason of each node."""

    is_temporary = True


class PeerError(KraftlakeError):
    """Another process on the network (the peer) did not answer, or refused. The text begins with
    the peer's host and port."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(address, reason)
        self.address = address
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.address}: {self.reason}"


class UnreachablePeerError(PeerError):
    """There was no connection, or the connection broke, or no answer came in time."""

    is_temporary = True


class UnansweredConnectionError(UnreachablePeerError):
    """The peer closed a connection before it answered a request. The peer may be stopping, or may
    want another security protocol (TLS, SASL) or another certificate than ours."""

    is_temporary = False


class MisroutedConnectionError(UnreachablePeerError):
    """The address now belongs to another node or cluster than expected."""


class UnsupportedByPeerError(PeerError):
    """The peer doesn't know the request, or knows no version of it that this release supports."""


class AuthenticationError(PeerError):
    """One of the two peers doesn't accept the identity of the other: a certificate, a password or a
    mechanism was refused. A retry doesn't help."""


class FileSystemError(KraftlakeError):
    """The operating system or an object store refused an operation."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class UnreadableFileError(FileSystemError):
    """The operating system or an object store refused to read."""


class UnwritableFileError(FileSystemError):
    """The operating system refused to write or to sync: the disk is full, broken or read-only.

    The content of the file is then unknown, even if a later call succeeds, because after a failed
    fsync the operating system forgets the bytes that it could not write.
    """


def reading(path: str) -> AbstractContextManager[None]:
    """A context for reading a file. An OSError in it becomes an UnreadableFileError that names the
    path."""
    return _raising(UnreadableFileError, path)


def writing(path: str) -> AbstractContextManager[None]:
    """A context for changing a file. An OSError in it becomes an UnwritableFileError that names the
    path."""
    return _raising(UnwritableFileError, path)


@contextmanager
def _raising(kind: type[FileSystemError], path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise kind(path, error.strerror or str(error)) from error

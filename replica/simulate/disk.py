"""A disk in memory that knows which writes are synced, and that simulates faults.

After `crash` a file holds its synced bytes and an arbitrary subset of the later writes, of which
the last may be torn. A folder holds its synced names and an arbitrary subset of the later
creations, renames and removals. Power can be lost in any call (`power_loss_in`). The caller gives
the random numbers, so one seed decides everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from replica.errors import UnreadableFileError, UnwritableFileError
from replica.format.byte_source import InMemory
from replica.storage.filesystem import File, FileSystem

Content = bytearray
Names = dict[str, "_Inode"]
NameChange = Callable[[Names], object]
_FileError = type[UnreadableFileError] | type[UnwritableFileError]
_T = TypeVar("_T")


class PowerLossError(Exception):
    """Power was lost during this call. Every call raises this error until `restart`."""


@dataclass(slots=True)
class DiskFaults:
    """The faults of a disk. Rates are probabilities for each call, from 0 to 1.

    capacity_bytes: writes beyond this size fail; None for no limit.
    call_ms: the time (ms) that every write and sync takes.
    """

    read_error_rate: float = 0.0
    write_error_rate: float = 0.0
    sync_error_rate: float = 0.0
    capacity_bytes: int | None = None
    call_ms: float = 0.0


@dataclass(slots=True, eq=False)
class _Write:
    """An unsynced write or, if `data` is None, a truncation to `position`."""

    position: int
    data: bytes | None

    def apply(self, content: Content, torn_at: int | None = None) -> None:
        if self.data is None:
            del content[self.position :]
            content.extend(bytes(self.position - len(content)))
            return
        data = self.data[:torn_at]
        content.extend(bytes(max(0, self.position - len(content))))
        content[self.position : self.position + len(data)] = data


@dataclass(slots=True, eq=False)
class _Inode:
    content: Content = field(default_factory=Content)
    synced: Content = field(default_factory=Content)
    unsynced: list[_Write] = field(default_factory=list)

    def change(self, write: _Write) -> None:
        write.apply(self.content)
        self.unsynced.append(write)

    def sync(self, begun: list[_Write]) -> None:
        """Make the writes durable that were unsynced when the sync began."""
        for write in begun:
            write.apply(self.synced)
        self._forget(begun)

    def lose(self, random: Random, begun: list[_Write]) -> None:
        """Let a sync fail: the bytes that it should have written stay readable, but no later sync
        writes these bytes."""
        for write in _subset(random, begun):
            write.apply(self.synced)
        self._forget(begun)

    def _forget(self, begun: list[_Write]) -> None:
        self.unsynced = [write for write in self.unsynced if write not in begun]

    def crash(self, random: Random) -> None:
        survivors = _subset(random, self.unsynced)
        longest = len(self.content)
        for write in survivors[:-1]:
            write.apply(self.synced)
        for write in survivors[-1:]:
            is_torn = write.data and random.random() < 0.5
            write.apply(self.synced, random.randrange(len(write.data or b"")) if is_torn else None)
        if self.unsynced and random.random() < 0.2:  # the size reached the disk, but not the bytes
            self.synced.extend(bytes(max(0, longest - len(self.synced))))
        self.unsynced.clear()
        self.content = Content(self.synced)


@dataclass(slots=True, eq=False)
class _Folder:
    names: Names = field(default_factory=dict)
    synced: Names = field(default_factory=dict)
    unsynced: list[NameChange] = field(default_factory=list)

    def change(self, change: NameChange) -> None:
        change(self.names)
        self.unsynced.append(change)

    def sync(self) -> None:
        self.synced = dict(self.names)
        self.unsynced.clear()

    def crash(self, random: Random) -> None:
        for change in _subset(random, self.unsynced):
            change(self.synced)
        self.names = dict(self.synced)
        self.unsynced.clear()


def _subset(random: Random, items: list[_T]) -> list[_T]:
    """A subset of the items: none, all, some of the first, or arbitrary items, each in a quarter of
    the crashes."""
    mode = random.randrange(4)
    if mode == 0:
        return []
    if mode == 1:
        return list(items)
    if mode == 2:
        return items[: random.randint(0, len(items))]
    return [item for item in items if random.random() < 0.5]


class SimulatedDisk(FileSystem):
    """The FileSystem of one machine.

    faults: the faults of the disk, which may be changed at any time.
    calls: the number of calls so far.
    busy_ms: the time of slow calls for which SimulatedMachine.wait_for_disk has not waited yet.
    """

    def __init__(self, random: Random) -> None:
        self.faults = DiskFaults()
        self.calls = 0
        self.busy_ms = 0.0
        self._random = random
        self._folders: dict[str, _Folder] = {}
        self._calls_left: int | None = None
        self._is_down = False
        self._boots = 0

    def power_loss_in(self, calls: int | None) -> None:
        """Lose power in the call after `calls` more calls. If `calls` is None, power stays on."""
        self._calls_left = calls

    @property
    def is_armed(self) -> bool:
        """Whether a planned power loss has not happened yet. If a test has planned a power loss for
        the middle of a script, this property tells whether the script ended before the power
        loss."""
        return self._calls_left is not None

    def crash(self) -> None:
        """Lose power now. Each unsynced write may survive or be lost. Every call fails until
        `restart`."""
        self._is_down = True
        self._calls_left = None
        for folder in self._folders.values():
            inodes = {id(i): i for i in (*folder.names.values(), *folder.synced.values())}
            folder.crash(self._random)
            inodes |= {id(inode): inode for inode in folder.names.values()}
            for inode in inodes.values():
                inode.crash(self._random)

    def restart(self) -> None:
        """Restore power. Files that were opened before can no longer be used."""
        self._is_down = False
        self._boots += 1

    @contextmanager
    def inspected(self) -> Iterator[None]:
        """A context for inspecting the disk: calls in it don't fail, aren't counted and take no
        time."""
        kept = self.faults, self.calls, self.busy_ms, self._calls_left
        self.faults, self._calls_left = DiskFaults(), None
        try:
            yield
        finally:
            self.faults, self.calls, self.busy_ms, self._calls_left = kept

    def used_bytes(self) -> int:
        return sum(len(i.content) for f in self._folders.values() for i in f.names.values())

    def put(self, path: str, data: bytes) -> None:
        """Put a synced file on the disk, as if it had always been there. A missing folder is
        made."""
        folder, name = _parts(path)
        names = self._folders.setdefault(folder, _Folder())
        names.names[name] = names.synced[name] = _Inode(Content(data), Content(data))

    def content(self, path: str) -> bytes:
        """The bytes of a file as a program would read them now. This method doesn't count as a call
        to the disk."""
        folder, name = _parts(path)
        return bytes(self._folders[folder].names[name].content)

    def open(self, path: str) -> File:
        self._call(path, self.faults.read_error_rate, UnreadableFileError)
        return _SimulatedFile(self, path, self._inode(path, UnreadableFileError))

    def reader(self, path: str, size: int) -> InMemory:
        with self.open(path) as file:
            return InMemory(file.read(0, size))

    def create(self, path: str) -> File:
        folder, name = _parts(path)
        inode = self._folder(folder).names.get(name)
        if inode is not None:
            self._write(path, inode, _Write(0, None))
            return _SimulatedFile(self, path, inode)
        created = _Inode()
        self._change(path, lambda names: names.__setitem__(name, created))
        return _SimulatedFile(self, path, created)

    def names(self, folder: str) -> tuple[str, ...]:
        self._call(folder, self.faults.read_error_rate, UnreadableFileError)
        return tuple(sorted(self._folder(folder).names))

    def rename(self, source: str, target: str) -> None:
        folder, name = _parts(source)
        assert _parts(target)[0] == folder, "files stay in their folder"
        inode, new_name = self._inode(source, UnwritableFileError), _parts(target)[1]

        def change(names: Names) -> None:
            names.pop(name, None)
            names[new_name] = inode

        self._change(source, change)

    def remove(self, path: str) -> None:
        self._inode(path, UnwritableFileError)
        name = _parts(path)[1]
        self._change(path, lambda names: names.pop(name, None))

    def link(self, source: str, target: str) -> None:
        inode, name = self._inode(source, UnwritableFileError), _parts(target)[1]
        self._change(target, lambda names: names.setdefault(name, inode))

    def sync_directory(self, folder: str) -> None:
        self._sync(folder, self._folder(folder).sync)

    def make_directory(self, folder: str) -> None:
        self._call(folder, self.faults.write_error_rate, UnwritableFileError)
        self._folders.setdefault(folder, _Folder())

    def _change(self, path: str, change: NameChange) -> None:
        """Create, rename or remove a name. Power may be lost before the change or after it."""
        folder = self._folder(_parts(path)[0])
        rate = self.faults.write_error_rate
        self._call(path, rate, UnwritableFileError, lambda: folder.change(change))

    def _write(self, path: str, inode: _Inode, write: _Write) -> None:
        grown = write.position + len(write.data or b"") - len(inode.content)
        full = self.faults.capacity_bytes
        if write.data and full is not None and self.used_bytes() + max(0, grown) > full:
            # a full disk takes the bytes that fit, possibly half a batch
            fits = max(0, len(write.data) - (self.used_bytes() + max(0, grown) - full))
            inode.change(_Write(write.position, write.data[:fits]))
            raise UnwritableFileError(path, "no space left on device")
        rate = self.faults.write_error_rate
        self._call(path, rate, UnwritableFileError, lambda: inode.change(write))

    def _sync(self, path: str, sync: Callable[[], None]) -> None:
        self._call(path, self.faults.sync_error_rate, UnwritableFileError, sync)

    def _call(
        self,
        path: str,
        error_rate: float,
        error: _FileError,
        change: Callable[[], None] | None = None,
    ) -> None:
        """Make one call, which may fail by the disk's faults. change: makes the call's change,
        which happens or not if power is lost within the call."""
        self._check_power(path)
        self.calls += 1
        if change is not None:
            self.busy_ms += self.faults.call_ms
        if self._calls_left is not None:
            self._calls_left -= 1
            if self._calls_left < 0:
                if change is not None and self._random.random() < 0.5:
                    change()
                self.crash()
                raise PowerLossError(path)
        if error_rate and self._random.random() < error_rate:
            raise error(path, "input/output error")
        if change is not None:
            change()

    def _check_power(self, path: str) -> None:
        if self._is_down:
            raise PowerLossError(path)

    def _folder(self, folder: str) -> _Folder:
        self._check_power(folder)
        if folder not in self._folders:
            raise UnreadableFileError(folder, "no such file or directory")
        return self._folders[folder]

    def _inode(self, path: str, error: _FileError) -> _Inode:
        folder, name = _parts(path)
        inode = self._folder(folder).names.get(name)
        if inode is None:
            raise error(path, "no such file or directory")
        return inode


class _SimulatedFile(File):
    def __init__(self, disk: SimulatedDisk, path: str, inode: _Inode) -> None:
        self._disk = disk
        self._path = path
        self._inode = inode
        self._boot = disk._boots

    @property
    def path(self) -> str:
        return self._path

    def size(self) -> int:
        self._check()
        return len(self._inode.content)

    def read(self, position: int, size: int) -> bytes:
        self._check()
        self._disk._call(self._path, self._disk.faults.read_error_rate, UnreadableFileError)
        return bytes(self._inode.content[position : position + size])

    def write(self, position: int, data: bytes) -> None:
        self._check()
        self._disk._write(self._path, self._inode, _Write(position, bytes(data)))

    def truncate(self, size: int) -> None:
        self._check()
        self._disk._write(self._path, self._inode, _Write(size, None))

    def sync(self) -> None:
        self.begin_sync()()

    def begin_sync(self) -> Callable[[], None]:
        """A function that syncs what was written before this call, and nothing that is written
        later. On a real disk, the function may also sync later writes."""
        self._check()
        begun = list(self._inode.unsynced)

        def sync() -> None:
            self._check()
            try:
                self._disk._sync(self._path, lambda: self._inode.sync(begun))
            except UnwritableFileError:
                self._inode.lose(self._disk._random, begun)
                raise

        return sync

    def close(self) -> None:
        pass

    def _check(self) -> None:
        if self._boot != self._disk._boots:
            raise PowerLossError(self._path)


def _parts(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder, name

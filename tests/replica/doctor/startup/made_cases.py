"""Invented cases of one node's start: settings and disks, by name. tests/interop/STARTS.md has real
Kafka's result for each."""

from __future__ import annotations

from collections.abc import Callable

from tests.replica.doctor.startup.laid_out import ANOTHER, FOLDER, Lay, Place
from tests.secret_log import level

CASES: dict[str, Lay] = {}


def case(name: str) -> Callable[[Lay], Lay]:
    def kept(lay: Lay) -> Lay:
        assert name not in CASES
        CASES[name] = lay
        return lay

    return kept


# Nodes that start.


@case("a static voter, formatted")
def _(place: Place) -> None:
    place.configure()
    place.format(place.data)


@case("a static voter with a log")
def _(place: Place) -> None:
    place.configure()
    place.wrote(place.format(place.data))


@case("a first voter of a dynamic quorum")
def _(place: Place) -> None:
    place.dynamic()
    place.stand_alone(place.format(place.data))


@case("a dynamic voter, and controller.quorum.voters is set, too")
def _(place: Place) -> None:
    place.configure()
    place.stand_alone(place.format(place.data))


@case("a dynamic voter, and controller.quorum.voters names others")
def _(place: Place) -> None:
    voters = ",".join(f"{one}@127.0.0.1:{place.other + one}" for one in (2, 3))
    place.configure(controller_quorum_voters=f"1@127.0.0.1:{place.port},{voters}")
    place.stand_alone(place.format(place.data))


@case("a combined node")
def _(place: Place) -> None:
    place.combined()
    place.format(place.data)


@case("a combined node with two log directories")
def _(place: Place) -> None:
    place.combined(log_dirs=f"{place.data},{place.second}")
    place.format(place.data)
    place.format(place.second, directory=1)


@case("metadata.log.dir beside log.dirs")
def _(place: Place) -> None:
    place.combined(metadata_log_dir=place.second)
    place.format(place.data)
    place.wrote(place.format(place.second, directory=1))


@case("a second log directory is a file")
def _(place: Place) -> None:
    place.combined(log_dirs=f"{place.data},{place.second}")
    place.format(place.data)
    place.second.write_text("no directory")


@case("a second log directory's meta.properties is of version 9")
def _(place: Place) -> None:
    place.combined(log_dirs=f"{place.data},{place.second}")
    place.format(place.data)
    meta = place.format(place.second, directory=1) / "meta.properties"
    meta.write_text(meta.read_text().replace("version=1", "version=9"))


@case("no directory.id, as before Kafka 3.7")
def _(place: Place) -> None:
    place.configure()
    meta = place.format(place.data) / "meta.properties"
    lines = meta.read_text().splitlines(keepends=True)
    meta.write_text("".join(one for one in lines if not one.startswith("directory.id")))


@case("unknown keys, a topic's key, comments and a long line")
def _(place: Place) -> None:
    more = "# a comment\nnum.io.thread=8\nretention.ms=1000\nnum.network\\\n   .threads = 3\n"
    place.configure(more=more)
    place.format(place.data)


@case("a voter at another port than its listener")
def _(place: Place) -> None:
    place.configure(controller_quorum_voters=f"1@127.0.0.1:{place.other}")
    place.format(place.data)


# Nodes that start, and never join.


@case("a log of static voters, and only bootstrap servers")
def _(place: Place) -> None:
    place.dynamic()
    place.wrote(place.format(place.data))


@case("formatted without voters, and only bootstrap servers")
def _(place: Place) -> None:
    place.dynamic()
    place.format(place.data)


@case("a dynamic voter's node with another disk")
def _(place: Place) -> None:
    place.dynamic()
    place.stand_alone(place.format(place.data, directory=1))


@case("static voters of whom the two others are down")
def _(place: Place) -> None:
    voters = ",".join(f"{one}@127.0.0.1:{place.other + one}" for one in (2, 3))
    place.configure(controller_quorum_voters=f"1@127.0.0.1:{place.port},{voters}")
    place.wrote(place.format(place.data), voters=(1, 2, 3))


@case("more static voters than the log has")
def _(place: Place) -> None:
    voters = ",".join(f"{one}@127.0.0.1:{place.other + one}" for one in (2, 3))
    place.configure(controller_quorum_voters=f"1@127.0.0.1:{place.port},{voters}")
    place.wrote(place.format(place.data))


@case("fewer static voters than the log has")
def _(place: Place) -> None:
    place.configure()
    place.wrote(place.format(place.data), voters=(1, 2, 3))


@case("a broker whose controller is down")
def _(place: Place) -> None:
    place.broker()
    place.format(place.data, node_id=2)


# Nodes that refuse to start: directories.


@case("node.id is another than the disk's")
def _(place: Place) -> None:
    place.configure()
    place.format(place.data, node_id=2)


@case("never formatted")
def _(place: Place) -> None:
    place.configure()
    place.data.mkdir()


@case("the log directory is missing")
def _(place: Place) -> None:
    place.configure()


@case("the log directory is a file")
def _(place: Place) -> None:
    place.configure()
    place.data.write_text("no directory")


@case("a second log directory was never formatted")
def _(place: Place) -> None:
    place.combined(log_dirs=f"{place.data},{place.second}")
    place.format(place.data)
    place.second.mkdir()


@case("a second log directory is missing")
def _(place: Place) -> None:
    place.combined(log_dirs=f"{place.data},{place.second}")
    place.format(place.data)


@case("the metadata log's directory may not be written")
def _(place: Place) -> None:
    place.configure()
    place.format(place.data).chmod(0o555)


@case("a metadata log that may not be written")
def _(place: Place) -> None:
    place.configure()
    (place.wrote(place.format(place.data)) / FOLDER).chmod(0o555)


@case("a segment that may not be written")
def _(place: Place) -> None:
    place.configure()
    partition = place.wrote(place.format(place.data)) / FOLDER
    (partition / f"{0:020d}.log").chmod(0o444)


@case("a second log directory may not be written")
def _(place: Place) -> None:
    place.combined(log_dirs=f"{place.data},{place.second}")
    place.format(place.data)
    place.format(place.second, directory=1).chmod(0o555)


@case("a second log directory that a broker has used may not be written")
def _(place: Place) -> None:
    place.combined(log_dirs=f"{place.data},{place.second}")
    place.format(place.data)
    place.format(place.second, directory=1)
    for name in ("recovery-point", "log-start", "replication", "cleaner"):
        (place.second / f"{name}-offset-checkpoint").write_text("0\n0\n")
    place.second.chmod(0o555)


@case("two log directories of two clusters")
def _(place: Place) -> None:
    place.combined(log_dirs=f"{place.data},{place.second}")
    place.format(place.data)
    place.format(place.second, cluster_id=ANOTHER, directory=1)


@case("two log directories of two nodes")
def _(place: Place) -> None:
    place.combined(log_dirs=f"{place.data},{place.second}")
    place.format(place.data)
    place.format(place.second, node_id=2, directory=1)


@case("two log directories with one directory.id")
def _(place: Place) -> None:
    place.combined(log_dirs=f"{place.data},{place.second}")
    place.format(place.data)
    place.format(place.second)


@case("a reserved directory.id")
def _(place: Place) -> None:
    place.configure()
    meta = place.format(place.data) / "meta.properties"
    lines = meta.read_text().splitlines(keepends=True)
    kept = "".join(one for one in lines if not one.startswith("directory.id"))
    meta.write_text(kept + "directory.id=AAAAAAAAAAAAAAAAAAAAAQ\n")


@case("a metadata log in the wrong log directory")
def _(place: Place) -> None:
    place.combined(log_dirs=f"{place.data},{place.second}")
    place.format(place.data)
    place.wrote(place.format(place.second, directory=1))


@case("a metadata log in both log directories")
def _(place: Place) -> None:
    place.combined(log_dirs=f"{place.data},{place.second}")
    place.wrote(place.format(place.data))
    place.wrote(place.format(place.second, directory=1))


@case("meta.properties is of version 9")
def _(place: Place) -> None:
    place.configure()
    meta = place.format(place.data) / "meta.properties"
    meta.write_text(meta.read_text().replace("version=1", "version=9"))


@case("meta.properties has no cluster.id")
def _(place: Place) -> None:
    place.configure()
    meta = place.format(place.data) / "meta.properties"
    lines = meta.read_text().splitlines(keepends=True)
    meta.write_text("".join(one for one in lines if not one.startswith("cluster.id")))


@case("the metadata log's place is a file")
def _(place: Place) -> None:
    place.configure()
    (place.format(place.data) / FOLDER).write_text("no directory")


@case("a log of metadata.version 4.4")
def _(place: Place) -> None:
    place.configure()
    place.wrote(place.format(place.data), level_of=33)


@case("a log whose metadata.version was 4.4, and was lowered to 3.9")
def _(place: Place) -> None:
    place.configure()
    place.wrote(place.format(place.data), level_of=33, more=[level(21)])


@case("a log with streams.version 1")
def _(place: Place) -> None:
    place.configure()
    place.wrote(place.format(place.data), more=[level(1, "streams.version")])


@case("a log of metadata.version 3.2")
def _(place: Place) -> None:
    place.configure()
    place.wrote(place.format(place.data), level_of=3)


@case("a quorum-state of 0 bytes")
def _(place: Place) -> None:
    place.configure()
    (place.wrote(place.format(place.data)) / FOLDER / "quorum-state").write_text("")


@case("a log that begins without its snapshot")
def _(place: Place) -> None:
    place.configure()
    partition = place.wrote(place.format(place.data), first=5) / FOLDER
    (partition / "leader-epoch-checkpoint").write_text("0\n1\n1 5\n")

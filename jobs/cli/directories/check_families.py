"""The families of rules by which `kraftlake check` judges."""

from __future__ import annotations

from dataclasses import dataclass

from replica.errors import UsageError


@dataclass(frozen=True, slots=True)
class Families:
    """The families of rules whose findings are printed and decide the verdict."""

    files: bool = True
    """Whether the rules about one directory, or about several directories together, are among
    them."""
    health: bool = True
    """Whether the rules about clusters are among them."""
    health_of_files: bool = False
    """Whether health is also judged for a segment or snapshot that is named without its directory,
    and may be an old one."""
    needs_health: bool = False
    """Whether an unknown state gives exit code 1."""


_BY_NAME = {
    "files": Families(health=False),
    "health": Families(files=False, health_of_files=True, needs_health=True),
    "all": Families(needs_health=True),
}


def families_of(name: str | None, *, replay: bool) -> Families:
    """The families that --family names. name: the option's value; None where it isn't given. Raises
    UsageError for an unknown name, and for health where `replay` is False, because health needs a
    replay."""
    if name is None:
        return Families(health=replay)
    families = _BY_NAME.get(name.lower())
    if families is None:
        raise UsageError(f"--family {name}: expected {', '.join(_BY_NAME)}")
    if families.health and not replay:
        raise UsageError(f"--family {name} needs the replay: leave --no-replay out")
    return families

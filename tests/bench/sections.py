"""Record pages whose sections are written one by one."""

from __future__ import annotations

import re


def with_section(record: str, section: str) -> str:
    """The record with this section instead of the section with the same heading, or at the end."""
    heading = section.splitlines()[0]
    others = re.split(r"^(?=## )", record, flags=re.MULTILINE)
    kept = [other.rstrip() for other in others if other.splitlines()[:1] != [heading]]
    return "\n\n".join([*kept, section])

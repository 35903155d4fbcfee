"""Checks names of files and folders that a stranger chose: in an archive, an object store, a
capture.json, or on a disk. Only this module decides which of these files and folders may be made,
and under which name."""

from __future__ import annotations

import re

_MAX_PATH_BYTES, _MAX_NAME_BYTES, _MAX_DEPTH = 1024, 255, 64
_MAX_FOLDER_BYTES = 100
_UNUSUAL = re.compile(r"[^\w.=+@, -]")
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
"""Names that mean a device in Windows, in each folder and with each ending."""


def is_below(path: str) -> bool:
    """Whether a relative path, with / between its parts, stays below its folder, and can be the
    path of a file."""
    return "\0" not in path and not {"", ".", ".."} & set(path.split("/"))


def fault_of(path: str) -> str:
    """Why a file with this path must not be made below a folder of kraftlake; "" if the file may be
    made."""
    parts = path.split("/")
    if ".." in parts:
        return "the name points outside the bundle"
    if "\\" in path or any(map(_is_control, path)):
        return "the name holds characters no Kafka file has"
    sizes = [len(part.encode("utf-8", "surrogatepass")) for part in parts]
    if sum(sizes) + len(sizes) > _MAX_PATH_BYTES or max(sizes) > _MAX_NAME_BYTES:
        return "the name is too long"
    return "the name has too many folders" if len(sizes) > _MAX_DEPTH else ""


def folder_name(text: str, otherwise: str) -> str:
    """A name for a folder of kraftlake, made from `text`. The name isn't a path, an option, hidden
    or a device of Windows, and has at most 100 bytes. otherwise: the name if no character of the
    text is usable."""
    name = _UNUSUAL.sub("_", text).encode()[:_MAX_FOLDER_BYTES].decode(errors="ignore")
    name = name.lstrip(".- ").rstrip(". ")
    return f"{name}_" if _DEVICE.fullmatch(name) else name or otherwise


def _is_control(char: str) -> bool:
    """Whether the character is a control character, a line separator, or a surrogate, which
    replaces a byte that isn't UTF-8."""
    is_surrogate = "\ud800" <= char <= "\udfff"
    return char < " " or "\x7f" <= char < "\xa0" or char in "\u2028\u2029" or is_surrogate

"""The options about secrets: whether a command shows secrets, and with which key it makes
fingerprints."""

from __future__ import annotations

import os
from collections.abc import Collection

from replica.errors import UsageError
from replica.metadata.redact import Redactor, is_secret_config

MAX_KEY_BYTES = 64 * 1024


def make_redactor(
    keep_secrets: bool, key_file: str | None, show_configs: Collection[str] = ()
) -> Redactor | None:
    """The redactor of the options, with a random key where no key is given; None where secrets are
    kept. Raises UsageError as check_shown does, and for a key file that can't be used."""
    check_shown(keep_secrets, show_configs)
    if keep_secrets:
        if key_file is not None:
            raise UsageError("--keep-secrets and --redact-key exclude each other: drop one")
        return None
    if key_file is None:
        return Redactor(os.urandom(32), frozenset(show_configs))
    try:
        with open(key_file, "rb") as file:
            key = file.read(MAX_KEY_BYTES)
    except OSError as error:
        raise UsageError(f"--redact-key {key_file}: {error.strerror or error}") from error
    if not key:
        raise UsageError(f"--redact-key {key_file}: the file is empty, it needs random bytes")
    return Redactor(key, frozenset(show_configs))


def check_shown(keep_secrets: bool, show_configs: Collection[str]) -> None:
    """Raises UsageError where the options contradict each other, or where a config is secret by its
    name."""
    if keep_secrets and show_configs:
        raise UsageError("--keep-secrets and --show-config exclude each other: drop one")
    for name in show_configs:
        if is_secret_config(name, show_configs):
            raise UsageError(
                f"--show-config {name}: Kafka holds it for secret, or its name says so: only "
                "--keep-secrets shows it, with all the others"
            )

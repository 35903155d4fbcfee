"""Sessions of Spark Connect: a server has the JVM, the settings and the jars."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from replica.errors import UsageError
from replica.installation import line_that_adds

_PORT = 15002
_TIMEOUT_S = 10


def remote_address(asked: Mapping[str, str]) -> str | None:
    """The server's address that spark.remote or SPARK_REMOTE names, as sc://host:port; None where
    neither is set. Raises UsageError for another form."""
    address = asked.get("spark.remote") or os.environ.get("SPARK_REMOTE") or None
    if address is not None and not address.startswith("sc://"):
        raise UsageError(
            f"SPARK_REMOTE={address}: name a server of Spark Connect, as sc://host:{_PORT}, or "
            "unset it and Spark starts here."
        )
    return address


def is_connect(spark: SparkSession) -> bool:
    """Whether the session is one of Spark Connect, which has no JVM in reach."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def refuse_remote(command: str) -> None:
    """Raises UsageError where Spark would run on a server, for a command that needs a Spark of its
    own."""
    if remote_address({}) is not None:
        raise UsageError(f"{command} needs a Spark of its own: unset SPARK_REMOTE.")


def connected(address: str, app_name: str) -> SparkSession:
    """A session of the server, or the session that this process has already. Raises UsageError
    where packages are missing, and where the server doesn't answer: sooner than pyspark, which
    would try for minutes."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port or _PORT
        socket.create_connection((host, port), _TIMEOUT_S).close()
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot reach the server of Spark Connect at {address} ({error}): start it, or name "
            "another by SPARK_REMOTE."
        ) from error
    try:
        return SparkSession.builder.remote(address).appName(app_name).getOrCreate()
    except (ImportError, PySparkException) as error:
        if not isinstance(error, ImportError):
            reason = str(error).splitlines()[0]
            raise UsageError(f"the server of Spark Connect at {address}: {reason}") from error
        raise UsageError(
            f"SPARK_REMOTE needs packages that are missing here: {line_that_adds('connect')}"
        ) from error

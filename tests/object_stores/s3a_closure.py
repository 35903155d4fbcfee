"""Writes pipelines/spark/s3a_jars.py: what Hadoop's s3a needs, by Ivy, with each jar's SHA-256.

    python -m tests.object_stores.s3a_closure

For a new pyspark: set the versions below to its Hadoop, and to the SDK that this Hadoop names.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.interop.maven_jars import Jar, Jars, _fetch
from tests.kraftlake_process import REPOSITORY

HADOOP, SDK, ACCELERATOR = "3.5.0", "2.35.4", "1.3.1"
_AWS = "software.amazon.awssdk"
_ASKED = (
    Jar("org.apache.hadoop", "hadoop-aws", HADOOP, with_closure=False),
    *(Jar(_AWS, name, SDK) for name in ("s3", "s3-transfer-manager", "sts")),
    # s3a loads it even where it isn't enabled
    Jar(
        "software.amazon.s3.analyticsaccelerator",
        "analyticsaccelerator-s3",
        ACCELERATOR,
        with_closure=False,
    ),
)
_IN_SPARK = re.compile(r"netty-.*|slf4j-api|commons-logging|commons-codec")
_HEAD = '''"""Hadoop's s3a for pyspark's Hadoop, with only the parts of AWS' SDK that it needs.

Written by `python -m tests.object_stores.s3a_closure`. The SDK as one bundle would be 686 MB.
"""

from __future__ import annotations

from pipelines.spark.jar_sets import Jar, JarSet

HADOOP_VERSION = "{hadoop}"
_SDK_VERSION = "{sdk}"
_SDK = {{
{sdk_jars}}}
"""The SHA-256 of each jar of the SDK, by the name of its module."""
_JARS: tuple[Jar, ...] = (
{jars}    *(Jar("{aws}", module, _SDK_VERSION, sha256)
      for module, sha256 in _SDK.items()),
)  # fmt: skip
S3A = JarSet("s3a's", {size}, f"s3a-{{HADOOP_VERSION}}", _JARS, "--s3")
'''


def main() -> None:
    """Resolves the jars and writes the module."""
    with tempfile.TemporaryDirectory() as work:
        _fetch(Path(work), Jars("s3a", HADOOP, _ASKED)._module)
        found = sorted(Path(work, "ivy").glob("*/*/*/*.jar"), key=_order)
        kept = [path for path in found if not _IN_SPARK.fullmatch(path.parts[-3])]
        size = sum(path.stat().st_size for path in kept)
        text = _HEAD.format(
            hadoop=HADOOP,
            sdk=SDK,
            aws=_AWS,
            sdk_jars="".join(map(_line, (path for path in kept if path.parts[-4] == _AWS))),
            jars="".join(map(_line, (path for path in kept if path.parts[-4] != _AWS))),
            size=size // 10**6 + 1,
        )
    target = REPOSITORY / "pipelines" / "spark" / "s3a_jars.py"
    target.write_text(text, encoding="utf-8")
    subprocess.run([sys.executable, "-m", "ruff", "format", "-q", str(target)], check=True)
    sys.stdout.write(f"{target}: {len(kept)} jars, {size} bytes\n")


def _order(path: Path) -> tuple[bool, Path]:
    return path.parts[-3] != "hadoop-aws", path


def _line(path: Path) -> str:
    """The line of a jar. path: ORGANISATION/MODULE/jars/MODULE-REVISION.jar in Ivy's cache."""
    organisation, module = path.parts[-4:-2]
    revision = path.stem.removeprefix(f"{module}-")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    if (organisation, revision) == (_AWS, SDK):
        return f'    "{module}": "{sha256}",\n'
    return f'    Jar("{organisation}", "{module}", "{revision}",\n        "{sha256}"),\n'


if __name__ == "__main__":
    main()

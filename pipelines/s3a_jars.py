"""Hadoop's s3a for pyspark's Hadoop, with as much of AWS' SDK as it needs.

Not written yet: `python -m tests.object_stores.s3a_closure` does, and needs Java and the network.
"""

from __future__ import annotations

from pipelines.jars import Jar, JarSet

HADOOP_VERSION = "3.5.0"
_JARS: tuple[Jar, ...] = ()
S3A = JarSet("s3a's", 14, f"s3a-{HADOOP_VERSION}", _JARS, "--s3")

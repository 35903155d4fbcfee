"""Hadoop's s3a and what it needs of AWS' SDK."""

from __future__ import annotations

from pipelines.jars import JarSet

HADOOP_VERSION = "3.5.0"
S3A = JarSet("s3a's", 14, f"s3a-{HADOOP_VERSION}", (), "--s3")

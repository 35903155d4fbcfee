"""The topic that holds a cluster's metadata; its one partition is 0."""

from __future__ import annotations

METADATA_TOPIC, METADATA_TOPIC_ID = "__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ"
"""Name and id by which Kafka knows it (Kafka: Topic)."""

"""The topic that holds a cluster's metadata. Its only partition is 0."""

from __future__ import annotations

METADATA_TOPIC, METADATA_TOPIC_ID = "__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ"
"""The name and the id of the topic (Kafka: Topic)."""

"""Entities from the text of a table, which anybody may have written."""

from __future__ import annotations

import pytest

from replica.errors import CorruptDataError
from replica.metadata.image.texts import entity_of, image_of


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("<script>", "{}", "'<script>' is no kind of entity"),
        ("topic", "", "the value of a topic is no JSON object"),
        ("topic", "[" * 100_000, "the value of a topic is no JSON object"),
        ("topic", "[1]", "the value of a topic is no JSON object"),
        ("topic", '{"topicId": ' + "9" * 5000 + "}", "the value of a topic is no JSON object"),
        ("partition", "{}", "partitionId is missing"),
        ("kraft_version", "{}", "the value of a kraft_version has no kRaftVersion"),
        ("voters", "{}", "voters is missing"),
        ("voters", '{"voters": 7}', "7 is no struct"),
        ("broker", '{"brokerId": "x"}', "'x' is no int32"),
    ],
)
def test_a_value_that_kraftlake_does_not_write_is_refused(
    kind: str, value: str, reason: str
) -> None:
    with pytest.raises(CorruptDataError, match=reason.replace("'", ".")):
        entity_of(kind, value)
    with pytest.raises(CorruptDataError):
        image_of([(kind, value, 1)])

"""Every message is what the published JSON Schema says; REWRITE_FEEDS=1 writes the schemas."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest

from pipelines.feeds import message
from pipelines.feeds.message import json_schema
from pipelines.feeds.values import FEEDS
from tests.pipelines.feeds.feed_table import CHANGES, FINDINGS, FeedTable, change, finding

SCHEMAS = Path(__file__).parents[3] / "conf" / "feeds"


@pytest.mark.parametrize("name", FEEDS)
def test_the_schema_in_conf_is_the_one_of_the_contract(name: str) -> None:
    path = SCHEMAS / f"{name}.schema.json"
    if os.environ.get("REWRITE_FEEDS"):
        text = json.dumps(json_schema(FEEDS[name]), indent=2, ensure_ascii=False)
        path.write_text(f"{text}\n", encoding="utf-8")
        pytest.skip("written anew")
    again = f"REWRITE_FEEDS=1, or kraftlake publish --schema --table {name} > {path}"
    assert json.loads(path.read_text(encoding="utf-8")) == json_schema(FEEDS[name]), again


def test_each_table_with_a_change_feed_has_a_schema() -> None:
    assert sorted(one.name for one in SCHEMAS.iterdir()) == sorted(
        f"{name}.schema.json" for name in FEEDS
    )


def test_messages_of_each_kind_fulfil_the_schema(tmp_path: Path) -> None:
    seen = set()
    changes, findings = FeedTable(tmp_path, CHANGES), FeedTable(tmp_path, FINDINGS)
    contents = {
        changes: ([change(1), change(2)], [change(1, old=None, new=None, at=None)]),
        findings: ([finding("x", offset=None), finding("y")], [finding("y", epoch=None)]),
    }
    for table, versions in contents.items():
        validator = jsonschema.Draft202012Validator(json_schema(table.feed))
        validator.check_schema(validator.schema)
        feed = table.opened()
        for rows in versions:
            version = table.replace(rows)
            for found in (*feed.changes(version), *feed.snapshot(version)):
                seen.add(found.op)
                line = json.loads(message.value(table.feed, found))
                validator.validate(line)
                for broken in (
                    {**line, "op": "upsert"},
                    {**line, "after": None, "before": None},
                    {**line, "after": {**found.row, "offset": "7"}},
                    {key: value for key, value in line.items() if key != "ordinal"},
                ):
                    assert not validator.is_valid(broken)
    assert seen == {"read", "insert", "update", "delete"}


def test_a_key_is_what_keeps_an_entitys_changes_together(tmp_path: Path) -> None:
    table = FeedTable(tmp_path, CHANGES)
    version = table.replace([change(1, key='a "ü"'), change(4, key='a "ü"')])
    keys = {message.key(table.feed, found) for found in table.opened().changes(version)}
    assert keys == {
        '{"cluster_id":"Lr3UIdBxT-GFPYE5uprmrg","entity":"partition","key":"a \\"ü\\""}'.encode()
    }

"""How far the migration from ZooKeeper has come (KIP-866; Kafka 3.4 to 3.9: FeaturesDelta)."""

from __future__ import annotations

from replica.metadata.image.kind import EntityKind
from replica.metadata.image.state import Fields, Handler, Refused, State


def _set(state: State, offset: int, fields: Fields) -> Refused | None:
    state.zk_migration.put("", fields["zkMigrationState"], offset)
    return None


def _fields(_: str, migration_state: int) -> dict[str, object]:
    return {"zkMigrationState": migration_state}


ZK_MIGRATION = "zk_migration_state"
HANDLERS: dict[str, Handler] = {"ZK_MIGRATION_STATE_RECORD": _set}
KINDS = (EntityKind(ZK_MIGRATION, "zk_migration", "ZK_MIGRATION_STATE_RECORD", _fields),)

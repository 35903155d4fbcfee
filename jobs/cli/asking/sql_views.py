"""Ready-made views of gold.metadata_history, as CREATE VIEW statements of each engine.

They show the state at one moment: at the end of the log, or at the moment that an option of `sql`
names. The values are JSON. Spark and DuckDB read it. DataFusion has no function for JSON, so a
pattern finds a field in the text, which replica.metadata.image writes compactly, with sorted keys
and escaped quotes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pipelines import dialects
from pipelines.dialects import Sql

HISTORY = "gold.metadata_history"
"""The table that the views read."""
AT_END = "valid_to_offset IS NULL"
"""The condition, in SQL, that a row of HISTORY (a version of an entity) is in the state at the
log's end."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Templates for the parts of SQL in which the engines differ. The templates `digits`, `string`
    and `array` read a field of the JSON in the column `value`; the word FIELD stands for the
    field's name."""

    text_of: dialects.Dialect
    """The dialect that writes literals."""
    digits: Sql
    """Gives a whole number, as text."""
    string: Sql
    """Gives a text, NULL where the field is null."""
    array: Sql
    """Gives a list of whole numbers, as array<int>."""
    without: Sql = "array_except(ONE, OTHER)"
    """Gives the list in the column ONE, without the elements of the list in the column OTHER."""

    def number(self, field: Sql) -> Sql:
        """SQL that reads a whole number from a field."""
        digits: Sql = self.digits.replace("FIELD", field)
        return f"CAST({digits} AS BIGINT)"

    def text(self, field: Sql) -> Sql:
        """SQL that reads a text from a field; NULL where the field is null."""
        return self.string.replace("FIELD", field)

    def numbers(self, field: Sql) -> Sql:
        """SQL that reads a list of whole numbers from a field, as array<int>."""
        return self.array.replace("FIELD", field)

    def difference(self, one: str, other: str) -> Sql:
        """SQL that gives the list `one` without the elements of the list `other`. Both are names of
        columns, not of fields of the JSON."""
        return self.without.replace("ONE", one).replace("OTHER", other)


def _found(pattern: Sql) -> Sql:
    return f"regexp_match(value, '\"FIELD\":{pattern}')[1]"


_ESCAPED = _found(r'"((?:[^"\\]|\\.)*)"')
_LISTED = f"string_to_array(nullif({_found('.([0-9,]*).')}, ''), ',')"
_NUMBERS = "'List(Int32)'"
DATA_FUSION = Dialect(
    dialects.DATA_FUSION,
    digits=_found("(-?[0-9]+)"),
    string=rf"""replace(replace({_ESCAPED}, '\"', '"'), '\\', '\')""",
    array=f"coalesce(arrow_cast({_LISTED}, {_NUMBERS}), arrow_cast(make_array(), {_NUMBERS}))",
)
"""The dialect of DataFusion, the engine of delta-rs."""
SPARK_SQL = Dialect(
    dialects.SPARK,
    digits="get_json_object(value, '$.FIELD')",
    string="get_json_object(value, '$.FIELD')",
    array="from_json(get_json_object(value, '$.FIELD'), 'array<int>')",
)
DUCK_DB = Dialect(
    dialects.DUCK_DB,
    digits="json_extract_string(value, '$.FIELD')",
    string="json_extract_string(value, '$.FIELD')",
    array="CAST(json_extract(value, '$.FIELD') AS INTEGER[])",
    without="list_filter(ONE, lambda broker: NOT list_contains(OTHER, broker))",
)


@dataclass(frozen=True)
class View:
    """A view that `kraftlake sql` offers besides the lake's tables."""

    name: str
    """The name of the view in a query."""
    description: str
    columns: tuple[tuple[str, str, str], ...]
    """(name, type, meaning) of each column."""
    entity: str
    """The kind of entities that the view shows."""
    select: Callable[[Dialect], str]
    """Makes the view's SELECT in a dialect. In it, the name `held` stands for the rows of
    metadata_history about entities of this kind."""


_SINCE = "record_offset AS since_offset, valid_from AS since"
_CLUSTER = ("cluster_id", "string", "the cluster")
_SINCE_COLUMNS = (
    ("since_offset", "bigint", "the record that made it so; NULL: before what the lake knows"),
    ("since", "timestamp", "when that took effect"),
)


def _topics(_: Dialect) -> Sql:
    partitions = (
        "SELECT cluster_id, split_part(key, ':', 1) AS topic_id, count(*) AS partitions "
        "FROM all_held WHERE entity = 'partition' GROUP BY 1, 2"
    )
    return (
        "SELECT held.cluster_id, held.name AS topic, held.key AS topic_id, "
        "coalesce(counted.partitions, 0) AS partitions, "
        "held.record_offset AS since_offset, held.valid_from AS since "
        f"FROM held LEFT JOIN ({partitions}) counted "
        "ON counted.cluster_id = held.cluster_id AND counted.topic_id = held.key"
    )


def _leaders(dialect: Dialect) -> Sql:
    return (
        "SELECT cluster_id, regexp_replace(name, '-[0-9]+$', '') AS topic, "
        "CAST(split_part(key, ':', 2) AS INT) AS partition_id, "
        f"CAST({dialect.number('leader')} AS INT) AS leader, "
        f"CAST({dialect.number('leaderEpoch')} AS INT) AS leader_epoch, "
        f"{dialect.numbers('replicas')} AS replicas, {dialect.numbers('isr')} AS isr, {_SINCE} "
        "FROM held"
    )


def _under_replicated(dialect: Dialect) -> Sql:
    missing = dialect.difference("replicas", "isr")
    return (
        "SELECT cluster_id, topic, partition_id, leader, replicas, isr, "
        f"{missing} AS missing, since_offset, since "
        f"FROM ({_leaders(dialect)}) partitions WHERE cardinality({missing}) > 0"
    )


_OPERATIONS = (
    "UNKNOWN", "ANY", "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE",
    "CLUSTER_ACTION", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE",
    "CREATE_TOKENS", "DESCRIBE_TOKENS", "TWO_PHASE_COMMIT",
)  # fmt: skip
"""AclOperation by code."""
_ACL_RESOURCES = (
    "UNKNOWN", "ANY", "TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN",
    "USER",
)  # fmt: skip
"""ResourceType by code."""
_PATTERNS = ("UNKNOWN", "ANY", "MATCH", "LITERAL", "PREFIXED")
"""PatternType by code."""
_PERMISSIONS = ("UNKNOWN", "ANY", "DENY", "ALLOW")
"""AclPermissionType by code."""
_CONFIG_RESOURCES = {2: "TOPIC", 4: "BROKER", 8: "BROKER_LOGGER", 16: "CLIENT_METRICS", 32: "GROUP"}
"""ConfigResource.Type by code."""


def _acls(dialect: Dialect) -> Sql:
    def named(field: Sql, names: Iterable[str]) -> Sql:
        return _case(dialect.number(field), enumerate(names))

    return (
        f"SELECT cluster_id, key AS acl_id, {dialect.text('principal')} AS principal, "
        f"{dialect.text('host')} AS host, {named('permissionType', _PERMISSIONS)} AS permission, "
        f"{named('operation', _OPERATIONS)} AS operation, "
        f"{named('resourceType', _ACL_RESOURCES)} AS resource_type, "
        f"{dialect.text('resourceName')} AS resource_name, "
        f"{named('patternType', _PATTERNS)} AS pattern_type, {_SINCE} FROM held"
    )


def _configs(dialect: Dialect) -> Sql:
    resource = _case(dialect.number("resourceType"), _CONFIG_RESOURCES.items())
    return (
        f"SELECT cluster_id, {resource} AS resource_type, "
        f"{dialect.text('resourceName')} AS resource_name, {dialect.text('name')} AS name, "
        f"{dialect.text('value')} AS value, {_SINCE} FROM held"
    )


def _case(number: Sql, names: Iterable[tuple[int, str]]) -> Sql:
    """SQL that gives the name of a code; its digits where the code is unknown."""
    when = " ".join(
        f"WHEN {code:d} THEN {dialects.DATA_FUSION.literal(name)}" for code, name in names
    )
    return f"CASE {number} {when} ELSE CAST({number} AS STRING) END"


_PARTITION = (
    _CLUSTER,
    ("topic", "string", "the topic's name"),
    ("partition_id", "int", "the partition's number"),
    ("leader", "int", "broker id, -1: none"),
)
_LISTS = (
    ("replicas", "array<int>", "brokers that hold it, the preferred leader first"),
    ("isr", "array<int>", "brokers in sync"),
)

VIEWS = (
    View(
        "gold.topics_at",
        "The topics at the moment asked for.",
        (
            _CLUSTER,
            ("topic", "string", "its name"),
            ("topic_id", "string", "its id"),
            ("partitions", "bigint", "how many it has"),
            *_SINCE_COLUMNS,
        ),
        "topic",
        _topics,
    ),
    View(
        "gold.partition_leaders_at",
        "Leader, replicas and ISR of each partition at the moment asked for.",
        (*_PARTITION, ("leader_epoch", "int", "its epoch"), *_LISTS, *_SINCE_COLUMNS),
        "partition",
        _leaders,
    ),
    View(
        "gold.under_replicated_at",
        "The partitions with replicas out of sync at the moment asked for.",
        (*_PARTITION, *_LISTS, ("missing", "array<int>", "out of sync"), *_SINCE_COLUMNS),
        "partition",
        _under_replicated,
    ),
    View(
        "gold.acl_at",
        "The access control entries at the moment asked for.",
        (
            _CLUSTER,
            ("acl_id", "string", "its id"),
            ("principal", "string", "whom it is about"),
            ("host", "string", "from where, * anywhere"),
            ("permission", "string", "ALLOW or DENY"),
            ("operation", "string", "Kafka's AclOperation"),
            ("resource_type", "string", "Kafka's ResourceType"),
            ("resource_name", "string", "which resource, or how its name begins"),
            ("pattern_type", "string", "LITERAL or PREFIXED"),
            *_SINCE_COLUMNS,
        ),
        "acl",
        _acls,
    ),
    View(
        "gold.config_at",
        "The dynamic configs at the moment asked for, secrets redacted.",
        (
            _CLUSTER,
            ("resource_type", "string", "TOPIC, BROKER and so on"),
            ("resource_name", "string", "which one, empty: the default of all"),
            ("name", "string", "the config's name"),
            ("value", "string", "its value"),
            *_SINCE_COLUMNS,
        ),
        "config",
        _configs,
    ),
)


def valid_at(end_offset: int) -> Sql:
    """The condition, in SQL, that a row of HISTORY (a version of an entity) is in the state at this
    end offset (exclusive)."""
    return (
        f"(valid_from_offset < {end_offset} AND "
        f"(valid_to_offset IS NULL OR valid_to_offset >= {end_offset}))"
    )


def views_in(names: Iterable[str]) -> tuple[View, ...]:
    """The views whose names are among `names`."""
    wanted = set(names)
    return tuple(view for view in VIEWS if view.name in wanted)


def _valid_in(end_offsets: Mapping[str, int], dialect: dialects.Dialect) -> Sql:
    """The condition, in SQL, that a row of HISTORY is in the state of its cluster at the end offset
    that `end_offsets` has for the cluster."""
    each = (
        f"(cluster_id = {dialect.cluster(cluster)} AND {valid_at(end_offset)})"
        for cluster, end_offset in end_offsets.items()
    )
    return " OR ".join(each)


def statements(
    views: Iterable[View], dialect: Dialect, ends: Mapping[str, int] | None = None
) -> Iterator[Sql]:
    """The statements that make the views. ends: as for LakeQuery. Raises UsageError for the id of a
    cluster that isn't of Kafka's form."""
    valid = AT_END if ends is None else _valid_in(ends, dialect.text_of)
    for view in views:
        yield f"CREATE OR REPLACE VIEW {view.name} AS {select(view, dialect, valid)}"


def select(view: View, dialect: Dialect, valid: Sql, history: Sql = HISTORY) -> Sql:
    """The query behind a view. valid: the condition, in SQL, that a row of HISTORY is shown.
    history: the name under which the query finds gold.metadata_history."""
    return (
        f"WITH all_held AS (SELECT * FROM {history} WHERE {valid}), "
        f"held AS (SELECT * FROM all_held WHERE entity = {dialect.text_of.literal(view.entity)}) "
        f"{view.select(dialect)}"
    )

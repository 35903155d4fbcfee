"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs (KIP-133, 226, 339, 569)."""

from __future__ import annotations

from replica.message.schema import Field
from replica.wire.apis.parts import ERROR_MESSAGE
from replica.wire.schema import api, field, structs

_RESOURCE = (field("resourceType", "int8"), field("resourceName", "string"))
_VALUE = field("value", "string", nullable=True, default=None)
_ERROR = (field("errorCode", "int16"), ERROR_MESSAGE)
_ALTERED = (field("throttleTimeMs", "int32"), structs("responses", *_ERROR, *_RESOURCE))

DESCRIBE_CONFIGS = api(
    "DescribeConfigs",
    32,
    (1, 4),
    flexible_since=4,
    request=(
        structs(
            "resources",
            *_RESOURCE,
            field("configurationKeys", "[]string", nullable=True),
        ),
        field("includeSynonyms", "bool"),
        field("includeDocumentation", "bool", since=3),
    ),
    response=(
        field("throttleTimeMs", "int32"),
        structs(
            "results",
            *_ERROR,
            *_RESOURCE,
            structs(
                "configs",
                field("name", "string"),
                _VALUE,
                field("readOnly", "bool"),
                field("configSource", "int8", default=-1),
                field("isSensitive", "bool"),
                structs(
                    "synonyms",
                    field("name", "string"),
                    _VALUE,
                    field("source", "int8"),
                ),
                field("configType", "int8", since=3),
                field("documentation", "string", since=3, nullable=True, default=None),
            ),
        ),
    ),
)


def _altering(*operation: Field) -> tuple[Field, ...]:
    """The fields of a request that alters configs. operation: what to do with each value."""
    configs = structs("configs", field("name", "string"), *operation, _VALUE)
    return structs("resources", *_RESOURCE, configs), field("validateOnly", "bool")


ALTER_CONFIGS = api(
    "AlterConfigs",
    33,
    (0, 2),
    flexible_since=2,
    request=_altering(),
    response=_ALTERED,
)

INCREMENTAL_ALTER_CONFIGS = api(
    "IncrementalAlterConfigs",
    44,
    (0, 1),
    flexible_since=1,
    request=_altering(field("configOperation", "int8")),
    response=_ALTERED,
)

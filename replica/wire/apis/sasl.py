"""SaslHandshake and SaslAuthenticate (KIP-43, 152, 368)."""

from __future__ import annotations

from replica.message.schema import FOREVER
from replica.wire.apis.parts import ERROR_MESSAGE
from replica.wire.schema import api, field

SASL_HANDSHAKE = api(
    "SaslHandshake",
    17,
    (0, 1),
    flexible_since=FOREVER,
    request=(field("mechanism", "string"),),
    response=(field("errorCode", "int16"), field("mechanisms", "[]string")),
)

SASL_AUTHENTICATE = api(
    "SaslAuthenticate",
    36,
    (0, 2),
    flexible_since=2,
    request=(field("authBytes", "bytes"),),
    response=(
        field("errorCode", "int16"),
        ERROR_MESSAGE,
        field("authBytes", "bytes"),
        field("sessionLifetimeMs", "int64", since=1),
    ),
)

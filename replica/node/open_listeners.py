"""Refuses to start a replica if anybody on the network could pass for a voter or an
administrator."""

from __future__ import annotations

from replica.errors import UsageError
from replica.node.authorizer import EVERYBODY, INSECURE, VOTERS, PrincipalRole
from replica.node.listeners import Listener
from replica.node.local_processes import is_loopback, is_supported
from replica.node.settings import NodeSettings
from replica.wire.server import ANONYMOUS


def check_open_listeners(settings: NodeSettings) -> None:
    """Raises UsageError, which names the key to set. Does nothing where INSECURE is set."""
    if settings.authorizer.is_insecure:
        return
    _check_voters(settings)
    names = settings.authorizer.principals[PrincipalRole.ADMINISTRATOR] & {EVERYBODY, ANONYMOUS}
    for listener in settings.listeners:
        if names and not is_loopback(listener.host) and not _knows_clients(settings, listener):
            where = f"{listener.name}://{listener.host}:{listener.port}"
            raise _error(
                settings,
                "kraftlake.principals.administrator",
                f"{', '.join(names)} is everybody who can connect to {where}, where clients don't "
                f"authenticate: name the administrators and ask for SASL or certificates there",
            )


def _check_voters(settings: NodeSettings) -> None:
    """Raise UsageError where the settings name no voters, but voters are on other machines: without
    names, a replica knows voters by their processes, which works on one machine only."""
    local = {settings.node_id}
    if settings.authorizer.names_voters or set(settings.static_voters.ids) == local:
        return
    far = [each.host for each in settings.advertised if not is_loopback(each.host)]
    if far:
        why = f"missing: {far[0]} is on the network, where an address proves nothing"
    elif not is_supported() and settings.advertised:
        why = "missing: this system doesn't tell whose process a connection is"
    else:
        return
    raise _error(settings, VOTERS, f"{why}. Name the voters' certificates or users")


def _knows_clients(settings: NodeSettings, listener: Listener) -> bool:
    security = settings.security.listeners[listener.name]
    return bool(security.mechanisms) or security.client_auth == "required"


def _error(settings: NodeSettings, key: str, why: str) -> UsageError:
    return UsageError(
        f"{settings.path}: {key}: {why}, or set {INSECURE}=true to trust everybody who can connect"
    )

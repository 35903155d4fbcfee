"""Finds the listeners at which everybody can read a node's log, because no setting limits the
readers."""

from __future__ import annotations

from replica.node.authorizer import EVERYBODY, PrincipalRole
from replica.node.listeners import Listener
from replica.node.local_processes import is_loopback
from replica.node.notice import Notice
from replica.node.settings import NodeSettings
from replica.wire.server import ANONYMOUS

_READING = (PrincipalRole.READER, PrincipalRole.OBSERVER)


def open_reading(settings: NodeSettings, listener: Listener) -> Notice | None:
    """A notice that everybody who can connect to this listener can read the log and the credentials
    in a metadata log. None if the settings name the principals that may read and observe, or if the
    listener's clients must authenticate."""
    if knows_clients(settings, listener):
        return None
    anybody = {EVERYBODY, ANONYMOUS}
    roles = [role for role in _READING if settings.authorizer.principals[role] & anybody]
    if not roles:
        return None
    is_near = is_loopback(listener.host)
    who = "every user of this machine" if is_near else "everybody who can connect"
    secrets = ", SCRAM credentials included" if settings.topic.is_metadata else ""
    remedy = "listen on 127.0.0.1, or run `replica run` with a login and named readers"
    if settings.recording is None:
        keys = " and ".join(f"kraftlake.principals.{role.value}" for role in roles)
        remedy = f"name who may by {keys}, and ask for SASL or certificates there"
    elif is_near:
        remedy = "leave --listen out where others can log in"
    name = f"{listener.name}://{listener.host or '*'}"
    text = f"{who} reads the whole log at {name}{secrets}: {remedy}"
    return Notice("open-listener", text, {"listener": listener.name, "host": listener.host})


def knows_clients(settings: NodeSettings, listener: Listener) -> bool:
    """Whether a listener's clients must authenticate."""
    security = settings.security.listeners[listener.name]
    return bool(security.mechanisms) or security.client_auth == "required"

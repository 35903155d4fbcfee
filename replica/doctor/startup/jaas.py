"""Reads a value of sasl.jaas.config as far as Kafka does before it logs in (Kafka: JaasConfig)."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""\s*(?:"(?:[^"\\]|\\.)*(?:"|\\?\Z)|'(?:[^'\\]|\\.)*(?:'|\\?\Z)"""
    r"""|(?P<sign>[=;])|(?P<word>[^\s=;"']+))""",
    re.DOTALL,
)
"""Matches a quoted text, a sign or a word. A quoted text without its closing quotation mark extends
to the end of the value. So the expression never backtracks."""
_FLAGS = ("required", "requisite", "sufficient", "optional")
_OF_KAFKA = "org.apache.kafka.common.security."
_MODULES = (
    "plain.PlainLoginModule",
    "scram.ScramLoginModule",
    "oauthbearer.OAuthBearerLoginModule",
)


def jaas_problem(text: str) -> tuple[str, str] | None:
    """(what is wrong, Kafka's message) for a login module with its options; None if Kafka can read
    it. Neither text quotes an option, because an option may be a password."""
    tokens = [match["sign"] or match["word"] or "a text" for match in _TOKEN.finditer(text)]
    if not tokens:
        return "it is empty", "Login module not specified in JAAS config"
    if len(tokens) == 1:
        return "no control flag", "Login module control flag not specified in JAAS config"
    module, flag, *rest = tokens
    if flag.lower() not in _FLAGS:
        return "no control flag such as `required`", "Invalid login module control flag"
    end = rest.index(";") if ";" in rest else len(rest)
    options, behind = rest[:end], rest[end + 1 :]
    if len(options) % 3 or any(sign != "=" for sign in options[1::3]):
        return 'an option is no NAME="VALUE"', "Value not specified for key"
    if end == len(rest):
        return "no semicolon at its end", "JAAS config entry not terminated by semi-colon"
    if behind:
        return "more than one login module", "login modules, should be 1 module"
    if module.startswith(_OF_KAFKA) and module.removeprefix(_OF_KAFKA) not in _MODULES:
        return f"Kafka has no class {module[:120]}", f"No LoginModule found for {module}"
    return None

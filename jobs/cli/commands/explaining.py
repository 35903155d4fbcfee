"""The command that explains what check finds: explain."""

from jobs.cli.commands import options
from jobs.cli.commands.parameters import Text, argument, command, option


@command("cli.directories.explain:run", "Explain a finding of check, and what to do about it.")
class ExplainOptions:
    """Explain a rule of `kraftlake check`: its meaning, what Kafka does, and what to do. Or print a
    runbook, which says step by step what to do about an incident.

    Without a rule, the command lists all rules.

    --json: rule, family (files, health), severity, meaning, kafka, next_step, issues (incidents
    that the rule would have found), runbook (null where there is none). Of a runbook: runbook,
    text.

    \b
    Examples:
      kraftlake explain snapshot-log-hole
      kraftlake explain --runbook disk-that-forgot
      kraftlake explain --json | jq 'select(.severity == "error") | .rule'

    Exit codes: 0, 2 usage (no such rule or runbook).
    """

    rule: Text = argument("[RULE]", "A rule's name, such as torn-tail.", default=None)
    runbook: Text = option(
        "--runbook NAME", "Print a runbook, such as disk-that-forgot.", default=None
    )
    json_output: options.Json = False

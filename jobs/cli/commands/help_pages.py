"""The pages that --help shows: headings above the commands, and arguments as `argument` names them,
with any release of typer."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from typer.core import TyperCommand, TyperGroup

from replica.errors import UsageError


class GroupedCommands(TyperGroup):
    """Shows each command below the heading of its group."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes each heading with its commands, and each command's purpose in a second column."""
        rows: dict[str, list[tuple[str, str]]] = {}
        width = max(map(len, self.commands))
        for name, command in self.commands.items():
            short_help = command.get_short_help_str(formatter.width - width - 4)
            heading = str(getattr(command, "rich_help_panel", ""))
            rows.setdefault(heading, []).append((name.ljust(width), short_help))
        for heading, commands in rows.items():
            with formatter.section(heading):
                formatter.write_dl(commands)


class CommandPage(TyperCommand):
    """The page of one command, which refuses an option with one value that is given twice."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses the words of the command line. Raises UsageError where an option that takes one
        value has two: click would use the last value, and drop the others without a message."""
        if not ctx.resilient_parsing:  # a shell completes the words that are there so far
            args = self._with_empty_values(ctx, args)
            _, _, given = self.make_parser(ctx).parse_args(args=list(args))
            for each in self._parameters(ctx, "option"):
                takes_one = not (each.multiple or each.is_flag or each.count)
                if takes_one and sum(one is each for one in given) > 1:
                    name = max(each.opts, key=len)
                    raise UsageError(f"{name} is given twice, and takes one value: give it once")
        return super().parse_args(ctx, args)

    def _with_empty_values(self, ctx: Any, args: list[str]) -> list[str]:
        """The words, with an empty value after each option that may stand without one: an option
        whose value the help shows in brackets."""
        alone = {
            name
            for each in self._parameters(ctx, "option")
            if str(each.metavar).startswith("[")
            for name in each.opts
        }
        found = []
        for word, following in zip_longest(args, args[1:]):
            found.append(word)
            if word in alone and (following is None or following.startswith("-")):
                found.append("")
        return found

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words after the command's name in the line of usage."""
        return ["[OPTIONS]", *(str(each.metavar) for each in self._parameters(ctx, "argument"))]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the arguments and the options, each in two columns."""
        arguments = [
            (str(each.metavar).strip("[]"), each.help) for each in self._parameters(ctx, "argument")
        ]
        options = [each.get_help_record(ctx) for each in self._parameters(ctx, "option")]
        for title, rows in (("Arguments", arguments), ("Options", options)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def _parameters(self, ctx: Any, kind: str) -> list[Any]:
        return [each for each in self.get_params(ctx) if each.param_type_name == kind]

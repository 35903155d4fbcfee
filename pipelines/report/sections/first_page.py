"""The summary of a cluster: what happened, how certain that is, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator

from pipelines.html_text import Html, element, joined, ticks
from pipelines.report.sections.pieces import code
from pipelines.report.view import ClusterView, NextStep
from replica.shell_text import line
from replica.words import sentence


def summary(c: ClusterView, *, is_one_of_several: bool) -> Html:
    """The summary of a cluster. is_one_of_several: whether the page has other clusters too."""
    level = c.verdict.level.value
    link = element("a", c.cluster_id, class_="id", href=f"#{c.identity}")
    title = joined((c.verdict.level.shown, *((Html(" "), link) if is_one_of_several else ())))
    above = (
        element("p", f"{fact.text} ", ticks(fact.next_step), class_="sentence")
        for fact in c.verdict.of_other_clusters
    )
    first = c.verdict.read_first
    below = (
        []
        if first is None
        else [element("p", element("strong", "First:"), f" {first.text} ", ticks(first.next_step))]
    )
    others = (*c.verdict.beside, *filter(None, [c.verdict.of_logs]))
    return element(
        "section",
        element("p", title, class_=f"level {level}", id=f"{c.identity}-verdict"),
        *above,
        element("p", c.verdict.headline, class_="sentence"),
        *below,
        *(element("p", one) for one in others),
        element("dl", *_points(c), class_="points"),
        class_=f"verdict {level}",
        aria_labelledby=f"{c.identity}-verdict",
    )


def _points(c: ClusterView) -> Iterator[Html]:
    for name, points in (("When", c.summary.when), ("Impact", c.summary.impact)):
        if points:
            yield element("dt", name)
            yield element("dd", *(element("p", one) for one in points))
    if c.summary.refused:
        yield element("dt", "Refused")
        yield element("dd", element("p", sentence(c.summary.refused)))
    sure = element("strong", f"{c.summary.certainty.capitalize()}.")
    reasons = joined(map(ticks, c.summary.confidence), Html(" "))
    yield element("dt", "Confidence")
    yield element("dd", element("p", sure, Html(" "), reasons))
    yield element("dt", "Next")
    yield element("dd", _steps(c))
    if c.runbook:
        how = code(line("kraftlake", "explain", "--runbook", c.runbook))
        yield element("dt", "Runbook")
        yield element("dd", element("p", f"{c.runbook}: ", how, " prints it."))


def _steps(c: ClusterView) -> Html:
    """The steps of the verdict, in its order."""
    if c.next_steps is None:
        unknown = "What to do is not known: the lake has no verdict on this cluster. `{}` makes it."
        return element("p", ticks(unknown.format(line("kraftlake", "build"))))
    if c.summary.refused_step and not c.next_steps:
        return element("p", ticks(c.summary.refused_step))
    if not c.next_steps and c.evidence.judged is not None and c.evidence.judged.not_judged:
        return element("p", "No step is known that tells what could not be judged.")
    if not c.next_steps:
        return element("p", "No finding in the newest captures asks for anything.")
    return element("ol", *map(_step, c.next_steps))


def _step(step: NextStep) -> Html:
    links = (element("a", rule, href=f"#{place}") for rule, place in step.rules)
    return element("li", ticks(step.text), *(joined((Html(" "), one)) for one in links))

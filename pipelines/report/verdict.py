"""The verdict of the report on a cluster: check's verdict on the newest captures, in its words, and
what earlier captures, and the logs themselves, show besides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pipelines.report.clause import Clause
from pipelines.report.clauses import clauses_of
from pipelines.report.report_facts import ReportFacts
from replica.doctor.verdict.verdict import Fact, Level, Verdict
from replica.words import counted, sentence


@dataclass(frozen=True)
class ReportVerdict:
    """The verdict on a cluster."""

    clauses: tuple[Clause, ...]
    """What the logs and files of the cluster's replicas show, besides what `judged` says."""
    judged: Verdict | None = None
    """The verdict of check on the newest captures; None where the lake has none."""

    @property
    def level(self) -> Level:
        """The worst level of check's verdict and of the clauses."""
        levels = [clause.level for clause in self.clauses]
        if self.judged is not None:
            levels.append(self.judged.level)
        return min(levels, key=lambda one: one.rank, default=Level.HEALTHY)

    @property
    def leading(self) -> Clause | None:
        """The clause with which the text begins: the worst clause, if it is worse than check's
        verdict; otherwise None. Such a clause may be about a loss that is over, which only earlier
        captures show."""
        worst = min(self.clauses, key=lambda one: one.level.rank, default=None)
        if worst is None or self.judged is None:
            return worst
        return worst if worst.level.rank < self.judged.level.rank else None

    @property
    def headline(self) -> str:
        """The worst statement: the headline of check, or a clause that is worse."""
        leading = self.leading
        if leading is not None:
            return _in_one([leading])
        return "" if self.judged is None else self.judged.headline

    @property
    def of_other_clusters(self) -> tuple[Fact, ...]:
        """Facts that must be read before the headline: as long as they hold, an operator would act
        on the wrong disk. The fact of check's own headline isn't among them."""
        return (
            ()
            if self.judged is None
            else tuple(fact for fact in self.judged.facts[1:] if fact.is_of_other_clusters)
        )

    @property
    def read_first(self) -> Fact | None:
        """The fact that has to be read before the first step; None where there is none."""
        return None if self.judged is None else self.judged.read_first

    @property
    def beside(self) -> tuple[str, ...]:
        """The statements of check's verdict besides `headline` and `read_first`. Facts that weigh
        little are only counted."""
        return tuple(self._beside())

    def _beside(self) -> Iterator[str]:
        if self.judged is None or not self.judged.facts:
            return
        if self.leading is not None:
            yield self.judged.headline
        weighty, less = self.judged.besides
        yield from (fact.text for fact in weighty if fact is not self.read_first)
        if less:
            yield f"And {counted(len(less), 'other finding')}."

    @property
    def of_logs(self) -> str:
        """The clauses besides `leading` as one text; "" if there are none."""
        leading = self.leading
        return _in_one([one for one in self.clauses if one is not leading])

    @property
    def sentence(self) -> str:
        """The whole verdict as one text."""
        first = "" if self.read_first is None else self.read_first.text
        return " ".join(filter(None, (self.headline, first, *self.beside, self.of_logs)))


def _in_one(clauses: Iterable[Clause]) -> str:
    """The clauses as one sentence; "" if there are none."""
    text = "; ".join(clause.text for clause in clauses)
    return sentence(text) if text else ""


def verdict(facts: ReportFacts) -> ReportVerdict:
    """The report's verdict on a cluster."""
    return ReportVerdict(clauses_of(facts), facts.judged)

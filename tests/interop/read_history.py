"""Whether what clients have read of one log was committed, judged by the final log.

A session is one client that reads on from offset to offset, of any replica, also of one that lags,
so reads needn't be newest. But what it has read must be a part of the final log, without a gap and
without a repetition: a committed offset never holds anything else later. Nothing is read above the
high watermark of the replica that gives it, and no append is read before it began.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.interop.append_history import Append


@dataclass(frozen=True)
class Piece:
    """A batch: its offsets (the end is exclusive), and a digest of all its bytes."""

    base_offset: int
    end_offset: int
    digest: str

    @property
    def place(self) -> str:
        return f"{self.base_offset} to {self.end_offset}"


@dataclass(frozen=True)
class Read:
    """One answer to a session. node: a label of the node that answered, with its role. start: the
    requested offset. ended: the time of the answer, in seconds of the appends' clock.
    high_watermark: in the answer (exclusive)."""

    session: str
    node: str
    start: int
    ended: float
    high_watermark: int
    pieces: tuple[Piece, ...]


def contradictions_of_reads(
    reads: Sequence[Read], log: Sequence[Piece], appends: Mapping[int, Append]
) -> list[str]:
    """A sentence for each read that contradicts the log. reads: of one session in their order. log:
    all batches that are committed at the end. appends: the clients' appends by their offsets in the
    log."""
    return [*_of_the_log(reads, log), *_on_and_on(reads), *_in_time(reads, appends)]


def _of_the_log(reads: Sequence[Read], log: Sequence[Piece]) -> Iterator[str]:
    known = {piece.base_offset: piece for piece in log}
    for read in reads:
        for piece in read.pieces:
            where = f"session {read.session} read {piece.place} of {read.node}"
            if piece.base_offset not in known:
                yield f"{where}, and the log has no batch that begins there"
            elif known[piece.base_offset] != piece:
                yield f"{where}, and the log has another batch there"
            if piece.end_offset > read.high_watermark:
                yield f"{where}, above the high watermark {read.high_watermark}"


def _on_and_on(reads: Sequence[Read]) -> Iterator[str]:
    ends: dict[str, int] = {}
    for read in reads:
        end = ends.get(read.session, read.start)
        for piece in read.pieces:
            where = f"session {read.session} read {piece.place} of {read.node}"
            if piece.base_offset < end:
                yield f"{where}, and had read up to {end}: it went back"
            if piece.base_offset > end:
                yield f"{where}, and had read up to {end}: it left something out"
            end = piece.end_offset
        ends[read.session] = end


def _in_time(reads: Sequence[Read], appends: Mapping[int, Append]) -> Iterator[str]:
    for read in reads:
        for piece in read.pieces:
            for offset in range(piece.base_offset, piece.end_offset):
                found = appends.get(offset)
                if found is not None and read.ended < found.began:
                    yield f"session {read.session} read {found.value} before its append began"

"""SQL's logic of three values."""

from __future__ import annotations

import pytest

from pipelines.cluster.aggregates import equal, every, some


@pytest.mark.parametrize(
    ("conditions", "is_every", "is_some"),
    [
        ((), True, False),
        ((True,), True, True),
        ((None,), None, None),
        ((True, None), None, True),
        ((False, None), False, None),
        ((True, False, None), False, True),
    ],
)
def test_null_is_passed_on_unless_the_other_conditions_decide(
    conditions: tuple[bool | None, ...], is_every: bool | None, is_some: bool | None
) -> None:
    assert every(conditions) is is_every
    assert some(conditions) is is_some


def test_a_comparison_with_null_is_unknown() -> None:
    assert [equal(1, 1), equal(1, 2), equal(1, None), equal(None, None)] == [
        True,
        False,
        None,
        None,
    ]

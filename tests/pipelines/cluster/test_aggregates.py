"""SQL's logic of three values."""

from __future__ import annotations

import pytest

from pipelines.cluster.aggregates import all_true, any_true, are_equal


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
    assert all_true(conditions) is is_every
    assert any_true(conditions) is is_some


def test_a_comparison_with_null_is_unknown() -> None:
    assert [are_equal(1, 1), are_equal(1, 2), are_equal(1, None), are_equal(None, None)] == [
        True,
        False,
        None,
        None,
    ]

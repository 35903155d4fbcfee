"""What the event of a registration says."""

from __future__ import annotations

from replica.doctor.timeline.details import detail_of
from tests.replica.doctor.health.clusters import features_up_to


def test_a_node_that_comes_back_with_another_release_is_told_by_its_levels() -> None:
    old = {"incarnationId": "a", "features": features_up_to(27)}
    for features, told in (
        (features_up_to(25), "again (restarted), now with levels up to 4.0-IV3"),
        (features_up_to(27), "again (restarted)"),
        ((), "again (restarted)"),
    ):
        new = {"incarnationId": "b", "features": features}
        assert detail_of("controller_registered", old, new) == told

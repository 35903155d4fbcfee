"""The network delays, repeats and loses messages, link by link."""

from itertools import pairwise
from random import Random

import pytest

from replica.simulate.network import Network

SENDS = 4000


def sent(network, sender=1, receiver=2, *, is_request=True):
    random = Random(1)
    return [network.delays(random, sender, receiver, is_request=is_request) for _ in range(SENDS)]


def calm():
    network = Network()
    network.stop_faults()
    return network


@pytest.mark.scenario("L16")
def test_a_cut_link_passes_nothing_and_the_others_everything():
    network = calm()
    network.split([1], [2, 3], one_way=True)
    assert set(map(len, sent(network, 1, 2))) == {0}
    assert set(map(len, sent(network, 2, 1))) == {1}
    network.split([1], [3])
    assert set(map(len, sent(network, 3, 1))) == {0}
    network.heal()
    assert set(map(len, sent(network, 1, 2))) == {1}


@pytest.mark.scenario("L16")
def test_a_link_may_lose_requests_alone():
    network = calm()
    network.cut_requests = {(1, 2)}
    assert set(map(len, sent(network, 1, 2, is_request=True))) == {0}
    assert set(map(len, sent(network, 1, 2, is_request=False))) == {1}


def test_messages_are_lost_repeated_and_late_as_often_as_told():
    network = Network(loss=0.1, duplication=0.2, straggling=0.05)
    copies = sent(network)
    assert len([c for c in copies if not c]) / SENDS == pytest.approx(0.1, abs=0.02)
    assert len([c for c in copies if len(c) == 2]) / SENDS == pytest.approx(0.18, abs=0.03)
    delays = [delay for each in copies for delay in each]
    assert all(1 <= delay <= network.straggler_ms for delay in delays)
    late = [delay for delay in delays if delay > network.delay_ms]
    assert len(late) / len(delays) == pytest.approx(0.05, abs=0.02)


def test_a_later_message_may_overtake_an_earlier_one():
    delays = [delay for each in sent(calm()) for delay in each]
    assert any(later + 1 < earlier for earlier, later in pairwise(delays))


def test_isolation_splits_all_nodes_in_two_for_one_direction_or_for_both():
    one_way = 0
    for seed in range(50):
        network = calm()
        network.isolate(Random(seed), [1, 2, 3, 4])
        from_one = {b for a, b in network.cut if a == 1} or {a for a, b in network.cut if b == 1}
        side = {1, 2, 3, 4} - from_one
        links = {(a, b) for a in side for b in from_one}
        back = {(b, a) for a, b in links}
        assert network.cut in (links, back, links | back)
        one_way += network.cut != links | back
    assert 5 < one_way < 30

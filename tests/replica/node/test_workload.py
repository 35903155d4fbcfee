"""The figures that the built-in load reports. Its latencies are those of records: an append of ten
records counts ten times."""

from hypothesis import example, given
from hypothesis import strategies as st

from replica.node.workload import AppendLoad, figures

COMMITS = st.lists(st.tuples(st.integers(0, 500), st.integers(1, 50)), min_size=1, max_size=40)


@given(COMMITS)
@example([(1, 999), (7, 1)])
@example([(1, 998), (7, 2)])
def test_a_large_append_counts_by_its_records_in_every_percentile(commits):
    took = [(float(ms), count) for ms, count in commits]
    notice = figures(took, AppendLoad(1, 1), took_s=2.0)
    each = sorted(ms for ms, count in commits for _ in range(count))
    for name, share in (("p75", 750), ("p99", 990), ("p999", 999)):
        below = -(-len(each) * share // 1000)
        assert notice.fields[f"latency_ms_{name}"] == each[below - 1]
    assert notice.fields["records_per_s"] == round(len(each) / 2, 1)

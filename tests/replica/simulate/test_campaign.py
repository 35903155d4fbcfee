"""The campaign's record: it goes on where it stopped, and its tables say what the runs reached."""

from replica.raft.roles import Candidate, Leader
from replica.simulate.coverage import COUNTED
from replica.simulate.faulty_run import Result, run
from replica.simulate.nemesis import FAULTS
from tests.replica.simulate.campaign import START, calls, main, record


def test_a_campaign_goes_on_where_it_stopped_and_writes_what_all_calls_did(tmp_path, capsys):
    state, page = tmp_path / "campaign.jsonl", tmp_path / "CAMPAIGN.md"
    page.write_text(f"By hand.\n{START}of an older campaign\n", encoding="utf-8")
    words = ("--events", "200", "--state", str(state), "--page", str(page), "--minutes", "1")
    assert main(("--seeds", "0:2", *words)) == 0
    done = state.read_text(encoding="utf-8")
    assert main(("--seeds", "0:3", *words, "--write")) == 0
    assert state.read_text(encoding="utf-8").startswith(done)
    assert sum(call.runs for call in calls(state)) == 3
    written = page.read_text(encoding="utf-8")
    assert written.startswith(f"By hand.\n{START}## The newest campaign")
    assert "older campaign" not in written
    assert "**3 runs of 200 events" in written
    assert "600 events, no broken invariant.**" in written
    assert written.endswith(capsys.readouterr().out[-200:])


def test_a_campaign_without_minutes_begins_no_run(tmp_path):
    state = tmp_path / "campaign.jsonl"
    assert main(("--seeds", "0:2", "--state", str(state))) == 0
    assert state.read_text(encoding="utf-8") == ""


def test_the_record_names_what_was_broken_with_the_command_that_repeats_it():
    said = record([Result(7, 100, "", 0, 0, "votes: twice", 7)], 100, [])
    assert "1 broken.**" in said
    assert "- votes: twice; again: `kraftlake simulate --seeds 7:8 --events 100`" in said


def test_a_run_counts_its_transitions_faults_and_what_each_rule_judged():
    counted = dict(zip(COUNTED, run(5, 400).counts, strict=True))
    leads = [t for t in COUNTED if getattr(t, "to", None) is Leader]
    assert [t.of for t in leads] == [Candidate]
    assert counted[leads[0]] == counted["one leader"] > 0
    assert sum(counted[name] for name in FAULTS) > 0
    assert counted["core"] > counted["votes"] > 0
    assert counted["liveness"] == 1

"""`kraftlake replica format`: a directory is named once, and said whose it is."""

import pytest

CLUSTER = "Lr3UIdBxT-GFPYE5uprmrg"


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "server.properties"
    path.write_text(
        f"node.id=7\nlog.dirs={tmp_path}/node7\nlisteners=CONTROLLER://127.0.0.1:9093\n"
        "controller.quorum.bootstrap.servers=127.0.0.1:9093\n"
    )
    return path


def test_a_first_voter_is_ready_for_check(kraftlake, config, tmp_path):
    made = kraftlake("replica", "format", "-c", config, "-t", CLUSTER, "--standalone", "--json")
    (row,) = made.rows
    assert (row["node_id"], row["voters"], row["formatted"]) == (7, [7], True)
    assert kraftlake("check", tmp_path / "node7").code == 0


def test_a_second_time_is_refused_in_one_line(kraftlake, config):
    kraftlake("replica", "format", "-c", config, "-t", CLUSTER)
    again = kraftlake("replica", "format", "-c", config, "-t", CLUSTER)
    assert again.code == 2
    assert "--ignore-formatted" in again.error
    kept = kraftlake("replica", "format", "-c", config, "-t", CLUSTER, "--ignore-formatted")
    assert kept.code == 0
    assert "nothing was changed" in kept.out


def test_a_missing_option_names_the_command_that_explains_it(kraftlake, config):
    missing = kraftlake("replica", "format", "-c", config)
    assert missing.code == 2
    assert "`kraftlake replica format --help`" in missing.error


def test_a_group_without_a_command_lists_its_commands(kraftlake):
    shown = kraftlake("replica")
    assert shown.code == 0
    assert {"format", "run"} <= {line.split()[0] for line in shown.lines if line.strip()}

"""Who may speak for which voter, by kraftlake.principals.voter."""

import pytest

from replica.node.authorizer import PrincipalRole, authorizer_in
from tests.replica.node.server_properties import properties

BY_NODE = "1@CN=node1,O=k; 2@CN=node2,O=k;3@CN=node2,O=k"


def authorizer(tmp_path, voters):
    return authorizer_in(properties(tmp_path, kraftlake__principals__voter=voters))


@pytest.mark.parametrize(
    ("principal", "nodes"),
    [
        ("CN=node1,O=k", {1}),
        ("CN=node2,O=k", {2, 3}),
        ("CN=n,O=k", set()),
        ("ANONYMOUS", set()),
    ],
)
def test_a_principal_named_with_its_node_speaks_for_that_node_alone(tmp_path, principal, nodes):
    found = authorizer(tmp_path, BY_NODE)
    assert {n for n in range(5) if found.speaks_for(principal, n)} == nodes
    assert found.may(principal, PrincipalRole.VOTER) is bool(nodes)


def test_a_principal_named_without_a_node_speaks_for_all(tmp_path):
    found = authorizer(tmp_path, "voter;1@CN=node1;1@voter")
    assert all(found.speaks_for("voter", n) for n in range(5))
    assert not found.speaks_for("CN=node1", 2)
    assert not found.speaks_for("other", 1)


@pytest.mark.parametrize("voters", [None, "", " ; "])
def test_without_named_voters_no_principal_is_a_voter(tmp_path, voters):
    found = authorizer(tmp_path, voters)
    assert not found.names_voters
    assert not found.speaks_for("ANONYMOUS", 1)

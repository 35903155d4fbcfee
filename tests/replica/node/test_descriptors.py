"""How many connections a process takes by the number of files that it may open."""

import resource
import subprocess
import sys

import pytest

from replica.errors import UsageError
from replica.node.descriptors import LEAST_CONNECTIONS, RESERVED, fitting, open_files_limit
from replica.wire.limits import NodeLimits
from tests.kraftlake_process import REPOSITORY

RAISED = """
from replica.node.descriptors import open_files_limit, raise_limit
raise_limit()
print(open_files_limit())
"""


def test_the_limit_is_raised_as_far_as_this_process_may():
    words = ["sh", "-c", 'ulimit -Sn 300; ulimit -Hn 900; exec "$@"', "sh", sys.executable, "-c"]
    ran = subprocess.run(
        [*words, RAISED], capture_output=True, text=True, cwd=REPOSITORY, check=True
    )
    assert ran.stdout == "900\n", ran.stderr
    assert open_files_limit() == resource.getrlimit(resource.RLIMIT_NOFILE)[0]


@pytest.mark.parametrize(("files", "connections"), [(100_000, 1000), (1024, 1024 - RESERVED)])
def test_connections_leave_files_for_storage(files, connections):
    assert fitting(NodeLimits(), files).max_connections == connections


def test_too_few_files_are_refused_with_the_number_that_is_needed():
    least = RESERVED + LEAST_CONNECTIONS
    assert fitting(NodeLimits(), least).max_connections == LEAST_CONNECTIONS
    with pytest.raises(UsageError, match=rf"may open {least - 1} files.* at least {least}: raise"):
        fitting(NodeLimits(), least - 1)

"""`kraftlake report` as a Spark application, with the same options:

spark-submit jobs/report.py --lake /data/lake -o incident.html
"""

from __future__ import annotations

import sys

from jobs.cli import main

if __name__ == "__main__":
    main(["report", *sys.argv[1:]])

"""`kraftlake maintain` as a Spark application, with the same options:

spark-submit jobs/maintain.py --lake /data/lake --retain-days 90
"""

from __future__ import annotations

import sys

from jobs.cli import main

if __name__ == "__main__":
    main(["maintain", *sys.argv[1:]])

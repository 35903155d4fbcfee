"""`kraftlake quality` as a Spark application, with the same options:

spark-submit jobs/quality.py --lake /data/lake
"""

from __future__ import annotations

import sys

from jobs.cli import main

if __name__ == "__main__":
    main(["quality", *sys.argv[1:]])

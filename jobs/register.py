"""`kraftlake register` as a Spark application, with the same options:

spark-submit jobs/register.py --lake /data/lake
"""

from __future__ import annotations

import sys

from jobs.cli import main

if __name__ == "__main__":
    main(["register", *sys.argv[1:]])

"""`kraftlake forget` as a Spark application, with the same options:

spark-submit jobs/forget.py --lake /data/lake --capture ID --yes
"""

from __future__ import annotations

import sys

from jobs.cli import main

if __name__ == "__main__":
    main(["forget", *sys.argv[1:]])

"""`kraftlake publish` as a Spark application, with the same options:

spark-submit jobs/publish.py --lake /data/lake --to changes/
"""

from __future__ import annotations

import sys

from jobs.cli import main

if __name__ == "__main__":
    main(["publish", *sys.argv[1:]])

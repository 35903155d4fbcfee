"""`kraftlake ingest` as a Spark application, with the same options:

spark-submit jobs/ingest.py --lake /data/lake /var/lib/kafka-1 /var/lib/kafka-2
"""

from __future__ import annotations

import sys

from jobs.cli import main

if __name__ == "__main__":
    main(["ingest", *sys.argv[1:]])

"""`kraftlake ingest` as a Spark application, with the same options:

spark-submit jobs/ingest.py --lake /data/lake /var/lib/kafka-1 /var/lib/kafka-2
"""

from jobs.cli import submitted

if __name__ == "__main__":
    submitted("ingest")

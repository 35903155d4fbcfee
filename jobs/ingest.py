"""`kraftlake ingest`, started by `spark-submit jobs/ingest.py --lake /data/lake node1/ node2/`."""

from jobs.cli.main import submitted

if __name__ == "__main__":
    submitted("ingest")

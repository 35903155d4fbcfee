"""`kraftlake quality`, started by `spark-submit jobs/quality.py --lake /data/lake`."""

from jobs.cli.main import submitted

if __name__ == "__main__":
    submitted("quality")

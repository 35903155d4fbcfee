"""`kraftlake forget`, started by `spark-submit jobs/forget.py --lake lake --capture ID --yes`."""

from jobs.cli import submitted

if __name__ == "__main__":
    submitted("forget")

"""`kraftlake forget`, started by `spark-submit jobs/forget.py --lake lake --capture ID --yes`."""

from jobs.cli.main import submitted

if __name__ == "__main__":
    submitted("forget")

"""`kraftlake publish`, started by `spark-submit jobs/publish.py --lake lake --to changes/`."""

from jobs.cli.main import submitted

if __name__ == "__main__":
    submitted("publish")

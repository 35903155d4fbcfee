"""`kraftlake maintain`, started by `spark-submit jobs/maintain.py --lake lake --retain-days 90`."""

from jobs.cli.main import submitted

if __name__ == "__main__":
    submitted("maintain")

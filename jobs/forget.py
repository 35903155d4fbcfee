"""`kraftlake forget`, started by `spark-submit jobs/forget.py --lake lake --capture ID --yes`."""

from jobs.cli.main import run_submitted

if __name__ == "__main__":
    run_submitted("forget")

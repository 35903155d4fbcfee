"""`kraftlake register`, started by `spark-submit jobs/register.py --lake /data/lake`."""

from jobs.cli.main import run_submitted

if __name__ == "__main__":
    run_submitted("register")

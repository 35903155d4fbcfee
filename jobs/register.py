"""`kraftlake register`, started by `spark-submit jobs/register.py --lake /data/lake`."""

from jobs.cli.main import submitted

if __name__ == "__main__":
    submitted("register")

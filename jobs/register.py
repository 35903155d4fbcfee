"""`kraftlake register`, started by `spark-submit jobs/register.py --lake /data/lake`."""

from jobs.cli import submitted

if __name__ == "__main__":
    submitted("register")

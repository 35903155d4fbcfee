"""`kraftlake build`, started by `spark-submit jobs/build.py --lake /data/lake`."""

from jobs.cli.main import submitted

if __name__ == "__main__":
    submitted("build")

"""`kraftlake maintain` by Spark: spark-submit jobs/maintain.py --lake /data/lake --retain-days 90"""

from jobs.cli import submitted

if __name__ == "__main__":
    submitted("maintain")

"""`kraftlake publish` by Spark: spark-submit jobs/publish.py --lake /data/lake --to changes/"""

from jobs.cli import submitted

if __name__ == "__main__":
    submitted("publish")

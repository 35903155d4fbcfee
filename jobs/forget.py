"""`kraftlake forget` as a Spark application, with the same options:

spark-submit jobs/forget.py --lake /data/lake --capture ID --yes
"""

from jobs.cli import submitted

if __name__ == "__main__":
    submitted("forget")

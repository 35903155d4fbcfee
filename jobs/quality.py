"""`kraftlake quality` as a Spark application, with the same options:

spark-submit jobs/quality.py --lake /data/lake
"""

from jobs.cli import submitted

if __name__ == "__main__":
    submitted("quality")

"""`kraftlake report` by Spark: spark-submit jobs/report.py --lake /data/lake -o incident.html"""

from jobs.cli import submitted

if __name__ == "__main__":
    submitted("report")

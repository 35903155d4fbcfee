"""`kraftlake report`, started by `spark-submit jobs/report.py --lake lake -o incident.html`."""

from jobs.cli import submitted

if __name__ == "__main__":
    submitted("report")

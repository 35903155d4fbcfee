"""`kraftlake report`, started by `spark-submit jobs/report.py --lake lake -o incident.html`."""

from jobs.cli.main import run_submitted

if __name__ == "__main__":
    run_submitted("report")

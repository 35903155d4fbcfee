"""OpenLineage events about our jobs: what went in, which versions of which tables came out.

job_events  whether and where events go, and the events around a job
events      RunEvents from what a job changed in a lake, read from Delta's logs; the only importer
            of openlineage, and only where events go somewhere
"""

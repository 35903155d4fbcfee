"""OpenLineage events about our jobs: their inputs, and the versions of the tables that they wrote.

job_events  whether and where events go, and the events around a job
events      RunEvents about a job's changes in a lake, read from Delta's logs; the only importer of
            openlineage, and only where events go somewhere
"""

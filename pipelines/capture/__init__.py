"""Captures on their way into the lake: bundles, object stores, and a copy that can't change.

Files are first copied into a spool folder of the lake, in the same pass that reads them. Spark's
workers read the copies, so a running node can go on writing, and all tables of one ingest are about
the same bytes. Nothing in here imports pyspark.
"""

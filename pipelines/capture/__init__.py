"""Captures on their way into the lake: bundles, object stores, and a copy that can't change.

What is ingested is first copied into a spool folder of the lake, in the same pass that reads it.
Spark's workers read the copy, so a running node can go on writing, and every table of one ingest
speaks of the same bytes. Nothing in here imports pyspark.
"""

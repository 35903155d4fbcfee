"""The replica engine: the formats, the metadata records and the reasoning about KRaft logs.

Nothing in here imports pyspark, pipelines or jobs, so it also runs where there is no Java.
"""

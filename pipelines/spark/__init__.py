"""Spark's session, with the jars, the Java and the settings that it starts with.

session       the only place that builds a SparkSession; connect: a session of Spark Connect
settings      a session's settings: the caller's, spark-submit's, those of conf/
session_jars  the jars that a session lacks; refuses other releases of Spark and Delta
jars          finds and fetches jars, also as `python -m pipelines.spark.jars`
jar_sets      sets of jars; s3a_jars has the set for lakes in S3
java          the Java that Spark runs on
classic       calls of a JVM, and their equivalents on a server of Spark Connect
delta_log     what Spark sees of a table of Delta
jvm           the JVM that this process starts: its start, its end and its output
"""

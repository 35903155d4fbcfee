"""Spark's session, with the jars, the Java and the settings that it starts with.

session       the only place that builds a SparkSession; connect: of a server of Spark Connect
settings      what a session is told: the caller's, spark-submit's, those of conf/
session_jars  the jars that a session lacks; refuses other releases of Spark and Delta
jars          finds and fetches jars, also as `python -m pipelines.spark.jars`
jar_sets      what a set of jars is; s3a_jars has those for lakes in S3
java          the Java that Spark runs on
classic       what is asked of a JVM, and what of a server in its place
delta_log     what Spark sees of a table of Delta
jvm           the JVM of a session of our own: its start, its end and its output
"""

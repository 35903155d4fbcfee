"""The replica engine: Kafka's formats and metadata records, the rules of KRaft logs, consensus.

`doctor` judges a cluster by the files of its nodes; no other folder of replica imports it. No
module of replica imports pyspark, pipelines or jobs, so replica also runs without Java.
"""

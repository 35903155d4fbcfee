"""The replica engine: Kafka's formats and metadata records, the rules of KRaft logs, consensus.

`doctor` judges a cluster by the files that its nodes left; nothing else in here imports it. Nothing
in here imports pyspark, pipelines or jobs, so it also runs where there is no Java.
"""

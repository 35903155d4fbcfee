"""A build without Spark, cluster by cluster.

digests      a digest of each cluster's rows of bronze, which shows whether they have changed
computing    the derived tables of some clusters, in any process, and the findings between clusters
"""

"""A build without Spark, cluster by cluster.

digests      what tells whether a cluster's rows of bronze have changed since a build
computing    the derived tables of some clusters, in any process, and the findings between clusters
"""

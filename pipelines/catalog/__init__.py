"""Names for a lake's tables in a catalog that outlives a session: a Hive metastore.

metastore     which metastore, and Spark's settings for it
statements    the SQL that makes and takes away names, as text
registration  runs it, and refuses to touch what others have registered
"""

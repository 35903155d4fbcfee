"""Names for a lake's tables in a catalog that outlives a session: a Hive metastore.

metastore     which metastore, and Spark's settings for it
statements    the SQL that makes and removes names, as text
registration  runs this SQL, and refuses to change names that others have registered
"""

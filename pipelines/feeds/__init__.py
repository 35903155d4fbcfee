"""Feeds: the changes of gold tables, read from Delta without Spark and published.

values       what is published, and the progress
tables       the tables that have a feed
change_feed  a table's changes, version by version
message      a change as key and JSON; schema: the JSON Schema of it
publishing   from a feed to a target, continuing where it stopped
kafka, files, webhook   the targets
"""

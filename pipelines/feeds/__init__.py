"""Feeds: gold tables' changes, read from Delta without Spark and published.

values       what is published, and how far
tables       which tables have a feed
change_feed  a table's changes, version by version
message      a change as key and JSON; schema: what that JSON looks like
publishing   from a feed to a target, going on where it stopped
kafka, files, webhook   the targets
"""

"""Feeds: the changes of gold tables, read from Delta and published.

values       the tables that have a feed, what is published, and the progress
change_feed  a table's changes, version by version; spark_feed reads them by Spark
message      a change as key and JSON, and the schema of this JSON
publishing   from a feed to a target, continuing where the last run stopped
kafka, kafka_topics, files, webhook   the targets; held_interrupts lets signals wait for `kafka`
alert_shapes, chat_text   findings in the forms of Slack, PagerDuty and Alertmanager; Slack's texts
"""

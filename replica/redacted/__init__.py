"""Logs and snapshots written anew without their secrets, for whoever may not see these.

names       topic, principal and other names of users in records, and what stands in their place
records     one record's bytes without secrets
log_file    the bytes of a segment or a snapshot: the same offsets, epochs and batches
files       all files of a metadata directory, as a capture copies them

The copy is what a Kafka node could have written: its batches have valid CRCs, and Kafka's own tools
read it. What nobody can read, and so may hold a secret, is overwritten in a way that keeps it
unreadable.
"""

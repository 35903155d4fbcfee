"""Rewrites logs and snapshots without their secrets, for readers who may not see the secrets.

names              topic, principal and other names of users in records, and the hashes that replace
                   them
record_redactor    one record's bytes without secrets
log_file           the bytes of a segment or a snapshot: the same offsets, epochs and batches
files              all files of a metadata directory, as a capture copies them

A Kafka node could have written the copy: its batches have valid CRCs, and Kafka's own tools read
it. Bytes that nobody can read may hold a secret, so they are overwritten in a way that keeps them
unreadable.
"""

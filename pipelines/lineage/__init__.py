"""OpenLineage events about our jobs: what went in, which versions of which tables came out.

transport  whether and where events go
lake       what a job changed in a lake, read from Delta's logs beside it
events     RunEvents from that; the only importer of openlineage, and only where events go somewhere
"""

"""Silver: a module for each table, named like the table. `tables` lists their functions.

Each function takes `Silver` (pipelines.gold.inputs) or parts of it, and gives rows. Rows are dicts,
column name to value, as pyarrow gives them: times are aware datetimes.
"""

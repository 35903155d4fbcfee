"""Whether the lake's tables are as expected, judged between the layers of a build.

expectation  the types of expectations and suites
suites       one suite for each table, as data
predicates   conditions that SQL can't express, as functions of a value
suite_sql    the rows that a suite judges, with facts about their neighbours, as SQL
neighbours   the same facts over Arrow, without SQL
judge        counts the broken rows, in the task that reads or makes them
table_results   the counts of all tasks added up: a verdict for each expectation of a table
results      the results of a run, and their rows and pages in the lake
counted_run  the counts of a run, in the form for Great Expectations
data_docs    starts the process of Great Expectations, and gets its pages
checkpoint   the process of Great Expectations: a Checkpoint for each run
pages        Great Expectations' Data Docs as pages that need no network
"""

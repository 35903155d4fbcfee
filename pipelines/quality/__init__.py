"""Whether the lake's tables are as expected, judged between the layers of a build.

expectation  the types of expectations and suites
suites       one suite for each table, as data
predicates   conditions that SQL can't express, as functions of a value
suite_sql    the rows that a suite judges, with facts about their neighbours, as SQL
neighbours   such facts over Arrow, without SQL
judge        counts the broken rows, in the task that reads or makes them
table_results   the counts of all tasks added up: a verdict for each expectation of a table
results      the results of a run, and their rows and pages in the lake
counted_run  the counts of a run, in the form for Great Expectations
data_docs    Great Expectations in a process of its own, as a job sees it
checkpoint   that process: a Checkpoint for each run
pages        Great Expectations' Data Docs as pages that need no network
"""

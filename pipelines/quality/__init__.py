"""Whether the lake's tables keep their promises, judged between the layers of a build.

expectation  what an expectation and a suite are
suites       one suite for each table, as data
predicates   conditions that SQL can't express, as functions of a value
suite_sql    the rows that a suite judges, with facts about their neighbours, as SQL
judge        counts the broken rows, in the task that reads or makes them
table_results   the counts of all tasks added up: a verdict for each expectation of a table
results      what a run has found, and writes into the lake: rows and pages
counted_run  what a run has counted, as Great Expectations is told it
data_docs    Great Expectations in a process of its own, as a job sees it
checkpoint   that process: a Checkpoint for each run
pages        Great Expectations' Data Docs as pages that need no network
"""

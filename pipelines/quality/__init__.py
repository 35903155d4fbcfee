"""Whether the lake's tables keep their promises, judged between the layers of a build.

expectation  what an expectation and a suite are
suites       one suite for each table, as data
predicates   conditions that only Spark's SQL can express, as functions of a value
suite_sql    the rows that a suite judges, with facts about their neighbours, as SQL
unbroken     how many rows break each expectation, without Spark; of large tables some clusters at
             a time
admitted     the rows that the gate admits, for any process
frames       the rows that a suite judges without Spark, for pandas
verdicts     the result for one table
validation   the only judge by great_expectations, which takes seconds to import: import it late
pages        Great Expectations' Data Docs as pages that need no network
results      what the gates of a run find, and write into the lake: rows and pages
gate         warns, quarantines or stops, by Spark
small_gate   the gate of a build without Spark, and the rows that it leaves out
"""

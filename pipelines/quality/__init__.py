"""Whether the lake's tables hold what they promise, judged between the layers of a build.

expectation  what an expectation and a suite are
suites       one suite a table, as data
predicates   conditions that only Spark's SQL can say, as functions of a value
rows         a table's rows with what its expectations need to know of their neighbours, by Spark
datafusion   the same as SQL for delta-rs, without Spark
unbroken     how many rows break what is expected, without Spark
in_parts     the same of large tables, some clusters at a time
admitted     rows that the gate admits, for any process
frames       rows that are judged without Spark, as pandas has them
verdicts     what a run found of a table
validation   the only judge by great_expectations, which takes seconds to import: import it late
pages        its Data Docs as pages that need no network
results      what a run leaves in the lake: rows and pages
left_out     rows left out by a build without Spark
gate         warn, quarantine or stop, by Spark
small_gate   the gate of a build without Spark
"""

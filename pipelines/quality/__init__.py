"""Whether the lake's tables hold what they promise, judged between the layers of a build.

expectation  what an expectation and a suite are
suites       one suite a table, as data
rows         a table's rows with what its expectations need to know of their neighbours
validation   the only importer of great_expectations, which takes seconds: import it late
pages        its Data Docs as pages that need no network
gate         warn, quarantine or stop, and the record of it in the lake
"""

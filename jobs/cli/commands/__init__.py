"""The options and the help of each command: a class, whose fields are the options and whose
docstring is the help. A command's work is in the folder of its heading in `kraftlake --help`, such
as jobs/cli/directories for "Directories of nodes". But the work of ingest, build and the
others that spark-submit starts, too, is in a module of jobs.

  directories   dump, diff, check, explain, recover
  copying       capture, prune, redact
  happening     what-happened, timeline, history
  recovering    rehearse, restore
  lake          ingest, build, quality, lake, maintain, forget, demo
  asking        sql, state
  planning      plan
  sharing       report, export, mcp, register, publish
  simulating    simulate
  engine        replica
  reading       consume
  shell         completion

`options` has options that several commands share.
`parameters` has the functions that declare a command, an option or an argument, `help_pages` the
pages that --help shows. `combinations` refuses options that don't go together.
"""

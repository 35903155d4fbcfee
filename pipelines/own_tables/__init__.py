"""Tables that a user adds to a lake, besides those of kraftlake: own.NAME.

- `own_table`: what an own table is. `answer_types`: its columns, from the rows that it has.
  `errors`: what may be wrong with it.
- `sql_files`: those of a folder of .sql files; `sql_rows`: their rows, by DuckDB. `packages`: those
  of installed packages.
- `definitions`: all that the user has named.
- `stored`: those that a lake has, and the note of what they were derived from.
- `deriving`: the unit that makes and judges the rows of one table; `own_build`: all of them after
  a build, and `own_quality` the judgement of them all.
"""

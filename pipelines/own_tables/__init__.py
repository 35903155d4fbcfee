"""Tables that a user adds to a lake, besides those of kraftlake: own.NAME.

- `own_table`: what an own table is. `answer_types`: its columns, from the rows that it has.
  `errors`: what may be wrong with it.
- `sql_files`: the own tables of a folder of .sql files; `sql_rows`: their rows, by DuckDB.
  `packages`: the own tables of installed packages.
- `definitions`: all own tables that the user has named.
- `stored`: the own tables that a lake has, and the note of what they were derived from.
- `deriving`: the unit that makes and judges the rows of one table. `own_build`: all own tables
  after a build. `own_quality`: all own tables judged.
"""

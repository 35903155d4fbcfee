"""The `kraftlake` command, and a folder for each group of commands that its help shows.

- `start`: what the console script and `__main__` run; `main`: all commands; `commands`: their
  options and help; `outcome`: their exit codes.
- `directories`, `lake`, `asking`, `sharing`, `engine`: the commands' work, by headings of help.
- What they share: `output` and `table_text` (printing), `record_lines`, `clock`, `moments`,
  `option_values`, `redacting`, `interrupts`, `memory_bound`, `page_file`. `rows`: a command's
  output as values, for programs in Python.
"""

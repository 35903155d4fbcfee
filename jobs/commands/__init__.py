"""The options and the help of each command. A command's work is in the folder of its group.

Most modules here have the name of that folder; `reading` and `engine` share one. `options` and the
other modules hold what several commands take.
"""

"""What each command is called with, and its help. A command's work is in the folder of its group.

A module here has the name of that folder; `reading` and `engine` belong to one. `options` and the
other modules hold what several commands take.
"""

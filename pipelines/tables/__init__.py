"""Table contracts: the content of every table of the lake, as data."""

"""Table contracts: what every table of the lake holds, as data."""

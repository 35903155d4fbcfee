"""The incident report: one HTML page about a lake, with the SQL behind each figure.

- `source`: the port to the lake, and a query with its rows.
- `queries`, `activity_queries`: the SQL; `evidence`: all of it asked for one cluster.
- `partings`, `losses`: where logs part, and what replicas lost or would lose.
- `verdict`: the answer in a sentence, by rules.
- `svg`, `axis`: drawing; `epoch_lanes`, `leader_lanes`, `fork`, `activity`: the figures.
- `payload`: records as `kraftlake dump` shows them.
- `travel`: the view of any moment, with a slider.
- `view`: what the page says of one cluster; `page`: the page itself.

No Spark and no table is opened here: the caller hands in a function that answers SQL.
"""

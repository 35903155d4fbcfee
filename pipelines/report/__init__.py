"""The incident report: one HTML page about a lake, with the SQL behind each figure, or about
directories.

- `source`: the port to the lake, and a query with its rows.
- `queries`, `change_queries`: the SQL; `evidence`: what is known of one cluster.
- `divergences`, `losses`: where logs diverge, and what replicas lost or would lose.
- `report_facts`: the facts of which the verdict is made. `clauses`, `loss_clauses`: what the logs
  show besides check's verdict, as objects of `clause`. `verdict`: check's verdict and these
  clauses. `summary`: the first page.
- `svg`, `axis`: drawing; `lanes` with `epoch_lanes` and `leader_lanes`, `fork`, `activity`: the
  figures.
- `record_rows`: records as `kraftlake dump` shows them. `meaning`: lost changes in words; `moved`:
  replicas that somebody moved; `rounds`: the names of rounds; `words`: numbers, nodes and times.
- `travel`: the view of any moment, with a slider.
- `view`: the content of the page for one cluster; `sections`: its markup; `page`: the page itself.
- `gathering`: the report of a lake. All other modules need Python alone.

No module here opens Spark or a table: the caller passes a function that answers SQL.
"""

"""The part of the page on which a reader goes through a cluster's history, change by change.

- `queries`: the SQL. `cluster_history`: the answers about one cluster (a sample where there are too
  many), and the judgements of replica.doctor.health on chosen moments. `gathering`: makes both.
- `steps`: the moments at which something changed, with the partitions and brokers of that moment.
- `moments`: the steps at which health is judged.
- `packed`: the whole history as compact JSON for the page; `strip`: the drawing under the slider.

The scripts in static/travel_*.js read the JSON of `packed`.
"""

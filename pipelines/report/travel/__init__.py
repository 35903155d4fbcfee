"""The part of the page on which a reader goes through a cluster's history, change by change.

- `queries`: the SQL; `trip`: its answers about one cluster, sampled where there are too many.
- `steps`: the moments at which anything changed, and what the partitions and brokers were there.
- `moments`: which of them health is judged at; `judged`: replica.health on the state at these.
- `packed`: all of it as compact JSON for the page; `strip`: the drawing under the slider.

The scripts in templates/travel_*.js read what `packed` writes.
"""

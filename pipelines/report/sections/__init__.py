"""The sections of the report's page, each a function of a cluster's view.

- `pieces`: tables, records, details, and the SQL behind a figure.
- `first_page`: the summary of a cluster. `journey`: the view of any moment.
- `replicas`, `epochs`, `lost`, `divergence`, `judged`, `activity`: the details.
- `cluster`: all details of one cluster, in their order.
"""

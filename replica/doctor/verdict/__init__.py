"""The one verdict on a cluster, of which check, what-happened, the report and recover speak.

`verdict` defines Verdict with its levels, facts and gaps, and decides it. `evidence` defines what
it is decided by, which directories (`evidence_of_directories`) and a lake give alike. `facts` makes
the evidence into facts; `outage` those that users feel, `losses` those about records that logs
lose. `runbooks` names the runbook for them.
"""

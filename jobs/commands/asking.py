"""The command that asks a lake with SQL."""

from __future__ import annotations

from typing import Annotated

from jobs.commands import options
from jobs.commands.combinations import alone, form_of, unless
from jobs.commands.parameters import Text, argument, option

Query = Annotated[Text, argument("[QUERY]", "One SELECT statement; - reads it from stdin.")]
QueryFile = Annotated[Text, option("-f, --file FILE", "Read the query from a file.")]
Engine = Annotated[str, option("--engine ENGINE", "The SQL engine: delta-rs, duckdb or spark.")]
Tables = Annotated[bool, option("--tables", "List the lake's tables and columns instead.")]
AskedQuestion = Annotated[
    Text, option("--question NAME", "Ask a prepared question; --questions lists them.")
]
Questions = Annotated[
    bool, option("--questions", "List the prepared questions; with --json, their SQL too.")
]


def sql(
    lake: options.Lake,
    query: Query = None,
    file: QueryFile = None,
    engine: Engine = "delta-rs",
    json_output: options.Json = False,
    csv: options.Csv = False,
    plain_csv: options.PlainCsv = False,
    tables: Tables = False,
    at_offset: options.AtOffset = None,
    at_time: options.AtTime = None,
    cluster: options.Cluster = None,
    question: AskedQuestion = None,
    questions: Questions = False,
) -> int:
    """Query the lake with SQL. Its tables are named bronze.x, silver.x and gold.x.

    The command opens only the tables that the query names. The first row comes in well under a
    second with delta-rs, in a second with duckdb, in some seconds with spark.

    The column payload is a VARIANT, which every engine shows as JSON. A query reads its fields with
    payload->>'name' = 'orders' in duckdb, which needs the extra kraftlake[duckdb], and with
    payload:name::string = 'orders' in spark, which needs Java.

    The views gold.topics_at, partition_leaders_at, under_replicated_at, acl_at and config_at show
    the state at the end of the log, or at --at-offset or --at-time as `state` does. --cluster
    leaves out the other clusters. A moment later than the newest capture of a cluster is an error.

    Without a query, on a terminal, the command is a prompt for many queries, with completion, a
    history and a pager ($PAGER, or less); \\? lists its commands.

    Text is an aligned table with times in UTC, nested values and VARIANT as JSON, binary as base64.
    --json prints a row per line, with times as ms since the epoch.

    \b
    Examples:
      kraftlake sql --lake lake --tables
      kraftlake sql --lake lake --question leaders
      kraftlake sql --lake lake "select * from gold.leader_epoch_history order by epoch"
      kraftlake sql --lake lake --at-offset 1526 "select * from gold.under_replicated_at"
      kraftlake sql --lake lake --csv -f incident.sql > incident.csv
      kraftlake sql --lake lake --engine duckdb \\
        "select payload from bronze.log_records where payload->>'name' = 'orders'"
      echo "select count(*) from bronze.log_records" | kraftlake sql --lake lake --json -

    Exit codes: 0, 1 when the query fails (unknown table or column, syntax), 2 usage.
    """
    from jobs.asking import sql as job
    from jobs.asking.sql_request import DELTA_RS, SqlRequest
    from jobs.moments import Moment, moment_of

    of_views = {"--cluster": cluster, "--at-offset": at_offset, "--at-time": at_time}
    of_a_query = {"--engine": unless(DELTA_RS, engine), **of_views}
    for name, value in (("--tables", tables), ("--questions", questions)):
        alone(name, value, of_a_query)
    request = SqlRequest(
        lake=lake,
        query=query,
        file=file,
        engine=engine,
        form=form_of(json_output, csv, plain_csv),
        tables=tables,
        moment=Moment(at_offset, moment_of("--at-time", at_time)),
        cluster=cluster,
        question=question,
        questions=questions,
    )
    return job.ask(request)

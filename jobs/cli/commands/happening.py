"""The commands that show what happened: what-happened, timeline and history."""

from typing import Annotated

from jobs.cli.commands import options
from jobs.cli.commands.combinations import exclusive, given_options, needs
from jobs.cli.commands.options import html_file, on_disk
from jobs.cli.commands.parameters import Number, Text, Texts, command, option, shared_option

Zone = Annotated[
    Text,
    shared_option(
        "--tz ZONE", "Show times in this zone, such as Europe/Berlin, or local; UTC by default."
    ),
]


@command(
    "cli.directories.what_happened:run",
    "Show an incident on one page: verdict, events, next steps.",
)
class WhatHappenedOptions:
    """Tell what happened to a cluster on one page: the verdict, the few events that led to it, and
    what to do next.

    Run this command first in an incident. It reads directories, and needs no lake. Name the
    directories of all nodes that you have. The verdict is that of `kraftlake check` on the newest
    captures. The events are elections with their probable causes, restarts of controllers, brokers
    that were fenced and came back, changes of the voters and of features, the latest changes of
    topics and configs, unclean elections, records that nodes hold apart from the others or have
    discarded, and the times during which partitions had no leader. If there are many, the gravest
    and newest are shown. `kraftlake timeline` lists the events of the log, `kraftlake check` all
    findings.
    Several captures of one node need --order, or a capture.json of `kraftlake capture`.

    \b
    Examples:
      kraftlake what-happened node1/ node2/ node3/
      kraftlake what-happened --tz local --order before,after captures/
      kraftlake what-happened --html incident.html node1/ node2/ node3/
      kraftlake explain --runbook what-happened-when

    --json: each line has a kind. verdict: as of `kraftlake check --json`. event: as of `kraftlake
    timeline --json`. outage: cluster_id, began and ended (ms; ended is null where partitions still
    have no leader), most (partitions without leader at one time). refused: the same, of partitions
    that refused writes with acks=all. majority_stopped: cluster_id, at (ms), offset of the first
    change that the voters lack, voters (node ids). leader_gave_up: cluster_id, at (ms, of the
    newest record), node_id (of the last leader). gap: cluster_id, detail (what the directories
    don't show). changes: cluster_id, until (ms, the log's last time), last_hour and last_day (the
    number of changes in each, by what changed: topic, replicas, config, acl, quota, scram). Exit
    codes: 0, 1 something is wrong (outage, at-risk or attention, as of `kraftlake check`), 2 usage.
    """

    paths: options.Paths
    zone: Zone = None
    cluster: options.Cluster = None
    order: options.Order = None
    pass_over: options.PassOver = None
    html: Text = option(
        "--html FILE",
        "Write the page to this file, too, with all events and steps.",
        default=None,
        callback=html_file("--html", on_disk("--html")),
    )
    json_output: options.Json = False


@command(
    "cli.directories.timeline:run", "List events by clock time; elections with probable causes."
)
class TimelineOptions:
    """List events by clock time: elections and their probable causes, voters, brokers.

    It reads directories, and needs no lake; `kraftlake what-happened` gives the few events that
    matter. Name the directories of all nodes that you have. Together they show the log that the
    cluster continued, the records that other nodes hold instead (divergence; histories_part where
    it is unknown which history is right, with the time of the last common record), and the records
    that a later capture of a node lacks (truncation, with the time of the last record that is
    gone). The first lines name the newest decisive events.
    The event elections_without_winner says that quorum-state of nodes is many epochs above the log,
    and no file names a leader of these epochs; its time is that of the log's last record.
    The event went_back says that a later capture of a node shows less than an earlier one, and Raft
    doesn't explain it, as after a restore from a backup. Several captures of one node need --order,
    or a capture.json of `kraftlake capture`. Times are those of the nodes' clocks;
    where they go back, the events are in the order of the log's offsets, and a line says so.

    The partitions of a topic whose replicas changed within an hour are one event. Changes of
    topics, configs, ACLs, quotas and credentials are only counted, because there may be very many:
    --event 'topic_*' lists them, without the values of ACLs and quotas;
    `kraftlake history` gives all values.

    \b
    The probable cause of an election:
      first             these logs name no leader before
      leader-removed    the former leader was no voter any more
      leader-cut-off    the former leader still appended records that no majority has
      disk-went-back    the new leader lacks records that had been committed, so a voter's disk was
                        restored from an older copy, or was emptied
      leader-restarted  the former leader fell silent, and a new process of it registered within
                        a minute
      leader-resigned   another leader was elected within 1.5 s of the last append. Followers wait
                        longer than this for a silent leader, and the former leader's process
                        can't have ended
      leader-silent     nothing was appended for 1.5 s or more, and no record shows why
      unknown           the records before the election are not in these logs, or allow several
                        causes

    \b
    Examples:
      kraftlake timeline node1/ node2/ node3/
      kraftlake timeline --tz local --event election --event 'voters*' captures/
      kraftlake timeline --order before,after captures/ --csv > incident.csv

    --json: cluster_id, at (ms), event, name, detail, cause (of elections), offset, leader_epoch,
    nodes (whose directories show it), commitment (proven, unproven, superseded; unproven also where
    it is unknown which of two histories is right). Exit codes: 0, 1 the directories can't be read,
    2 usage (also directories without a metadata log).
    """

    paths: options.Paths
    events: Texts = option(
        "--event E",
        "Only events of this kind, such as election or 'broker_*'. May be repeated.",
        default=None,
    )
    from_time: options.FromTime = None
    to_time: options.ToTime = None
    zone: Zone = None
    cluster: options.Cluster = None
    order: options.Order = None
    pass_over: options.PassOver = None
    json_output: options.Json = False
    csv: options.Csv = False
    plain_csv: options.PlainCsv = False


@command("cli.asking.history:run", "List the changes of a topic, broker, principal or config.")
class HistoryOptions:
    """List the changes of a topic, broker, principal or config, one by one.

    The command reads a lake, or replays the logs of directories, which takes about 20 us for each
    record. Both give the same words and columns as `kraftlake sql --question changes`. Name the
    directories of all nodes that you have. A change that only a truncated branch has is shown as
    superseded. Where a log doesn't begin at offset 0, the content of its oldest snapshot is not
    shown as changes. Text shows 100 characters of a value at most. Where the old or the new value
    is longer, it shows only the fields that differ. --json and --csv have whole values.

    --topic shows the topic, its partitions, its configs, and ACLs on exactly its name. --broker
    shows the broker's registration and configs. --principal shows ACLs, SCRAM credentials, quotas
    and delegation tokens of User:NAME, or of TYPE:NAME. --config shows one config of all resources.
    With several of these options, a change must match all of them. Secrets show as *** and a
    fingerprint, whose key is made for this run unless --redact-key names one.

    \b
    Examples:
      kraftlake history --topic orders node1/ node2/ node3/
      kraftlake history --topic orders --config retention.ms --lake lake
      kraftlake history --principal User:alice --tz local --csv node1/ > alice.csv

    --json: cluster_id, at (ms), offset, change, entity, name, old, new (JSON as text), commitment
    (proven, unproven, superseded). Exit codes: 0, 1 the directories can't be read, 2 usage (also a
    lake that was not built).
    """

    paths: options.PathsOfAState = None
    lake: options.LakeOrPaths = None
    topic: options.OfTopic = None
    broker: Number = option(
        "--broker N", "Only this broker's registration and configs.", default=None, min=0
    )
    principal: Text = option(
        "--principal P",
        "Only what belongs to this principal: User:alice, or alice for short.",
        default=None,
    )
    config: Text = option("--config NAME", "Only this config, of all resources.", default=None)
    from_time: options.FromTime = None
    to_time: options.ToTime = None
    zone: Zone = None
    cluster: options.Cluster = None
    order: options.Order = None
    pass_over: options.PassOver = None
    keep_secrets: options.KeepSecrets = False
    show_config: options.ShowConfig = None
    redact_key: options.RedactKey = None
    json_output: options.Json = False
    csv: options.Csv = False
    plain_csv: options.PlainCsv = False

    def __post_init__(self) -> None:
        exclusive(given_options(self, "paths", "lake"))
        of_directories = given_options(
            self, "order", "pass_over", "keep_secrets", "show_config", "redact_key"
        )
        needs("PATH", self.paths, of_directories)

"""Commands that copy directories of nodes, and keep the copies: capture, prune, redact."""

from jobs.cli.commands import options
from jobs.cli.commands.combinations import given_options, needs
from jobs.cli.commands.parameters import argument, command, option


@command("cli.directories.capture:run", "Copy the directories of running nodes, with hashes.")
class CaptureOptions:
    """Copy the metadata directories of running nodes, with their hashes, to a folder or a URI.

    A capture keeps a node's log before the node restarts, or brings it to the lake's machine.
    capture locks and changes nothing. A directory that changes while it is read is read again,
    three times at most. capture.json is written last. It has the time of the capture and, for each
    file, its hash and the time at which the node last wrote it (modified_at). By the hash, ingest
    notices a file that was damaged or lost on the way.

    After an interruption run the same command again: files that were copied and have not changed
    since are not sent again. ingest leaves a capture out until it is complete.

    --redacted makes copies without secrets, as `kraftlake redact` does.

    --json: folder, source, files, size_bytes, sent_bytes, moved (the directory changed during each
    of three reads), damages, a line per directory.

    \b
    Examples:
      kraftlake capture /var/kafka/metadata -o /backup/captures/$(date +%FT%H%M)
      kraftlake capture node1/ node2/ -o s3://bucket/captures/incident-7
      kraftlake capture --redacted /var/kafka/metadata -o for-the-vendor

    Exit codes: 0, 1 when something is damaged (the bytes are captured as they are) or a directory
    changed during each of three reads, 2 usage.
    """

    paths: options.NodePaths
    output: options.CaptureOutput
    redacted: bool = option(
        "--redacted", "Leave secrets out, as `kraftlake redact` does.", default=False
    )
    redact_key: options.RedactKey = None
    hashes_names: options.HashedNames = False
    show_config: options.ShowConfig = None
    json_output: options.Json = False

    def __post_init__(self) -> None:
        of_copies = given_options(self, "redact_key", "hashes_names", "show_config")
        needs("--redacted", self.redacted, of_copies)


@command("cli.directories.prune:run", "Delete captures that are older than a given age.")
class PruneOptions:
    """Delete captures that are older than a given age, by the time in their capture.json.

    Use it for a folder in which each `kraftlake capture` makes a folder of its own. prune deletes
    only files that a capture.json names; it leaves other files, folders without a capture.json,
    and links alone. What a lake has ingested stays in the lake. Run prune after an ingest that
    succeeded, so that the lake has every capture that prune deletes. For an object store, use the
    store's own rules for deletion by age.

    --json: folder, captured_at, files, size_bytes, removed, a line per capture.

    \b
    Examples:
      kraftlake prune /backup/captures --older-than 7d --dry-run
      kraftlake ingest --lake lake --build /backup/captures && \\
        kraftlake prune /backup/captures --older-than 24h

    Exit codes: 0, 1 when a capture can't be deleted (the others are), 2 usage.
    """

    folder: str = argument("FOLDER", "The folder that holds the captures' folders.")
    older_than: str = option(
        "--older-than AGE", "Delete captures older than AGE, such as 90m, 36h, 7d or 2w."
    )
    dry_run: bool = option(
        "--dry-run", "Delete nothing; name the captures that would be deleted.", default=False
    )
    json_output: options.Json = False


@command("cli.directories.capture:run_redact", "Copy directories without their secrets.")
class RedactOptions:
    """Copy metadata directories without their secrets, for a vendor or an issue.

    The copy has the same offsets, epochs, batches and times, and valid CRCs; check and diff find
    the same in it, and Kafka's own tools read it. Each secret (SCRAM credentials, ids of delegation
    tokens, values of secret and of unknown configs) is replaced by a fingerprint. Equal secrets
    have equal fingerprints, so a change of a secret still shows. Batches with secrets change their
    size, and with it the positions in .index files. Damaged bytes are overwritten, and their places
    stay damaged. Records that this release doesn't know keep their type and version.

    -o NAME.tar.gz makes one archive to send, which check and the other commands read as it is; any
    other name is a folder. The last lines say what is still readable in the copy.

    --names replaces the names of topics, users, groups, client ids and transactional ids by hashes.
    Hosts, racks, IP addresses and node ids are never replaced.

    --json: folder, source, files, size_bytes, sent_bytes, moved (the directory changed during each
    of three reads), damages, a line per directory.

    \b
    Examples:
      kraftlake redact captures/2026-11-21T0500 -o for-the-vendor.tar.gz
      kraftlake redact --names --redact-key ticket.key node1/ node2/ node3/ -o ticket-4711
      kraftlake explain --runbook log-to-share

    Exit codes: 0, 1 when something is damaged, 2 usage.
    """

    paths: options.NodePaths
    output: options.CopyOutput
    redact_key: options.RedactKey = None
    hashes_names: options.HashedNames = False
    show_config: options.ShowConfig = None
    json_output: options.Json = False

"""Rules about a node's server.properties, alone and against its log directories and the quorum's
logs: whether the node starts, and whether it joins."""

from __future__ import annotations

from replica.doctor.check.rule import error, info, warning

SETTING_NOT_UNDERSTOOD = error(
    "setting-not-understood",
    "A setting has a value of the wrong kind, or one out of its bounds; or the file has an escape "
    "that Java can't read.",
    "Refuses to start: a value is invalid for its configuration.",
    "Correct the line of the file.",
)
PROCESS_ROLES_WRONG = error(
    "process-roles-wrong",
    "process.roles is missing, or names something else than broker and controller.",
    "Refuses to start. Kafka 3.9 treats a node without process.roles as a broker that uses "
    "ZooKeeper.",
    "Set process.roles to broker, to controller, or to broker,controller.",
)
NODE_ID_WRONG = error(
    "node-id-wrong",
    "node.id is missing or negative, or broker.id names another number.",
    "Refuses to start.",
    "Set node.id to the number that the node's meta.properties has, and leave broker.id out.",
)
QUORUM_NOT_NAMED = error(
    "quorum-not-named",
    "The settings don't say where the controllers are: controller.quorum.voters and "
    "controller.quorum.bootstrap.servers are both missing.",
    "Refuses to start.",
    "Name the controllers: by controller.quorum.voters in a static quorum, else by "
    "controller.quorum.bootstrap.servers.",
)
ROLE_AGAINST_VOTERS = error(
    "role-against-voters",
    "A controller's node.id is none of controller.quorum.voters, or that of a broker alone is one "
    "of them.",
    "Refuses to start.",
    "Correct process.roles, node.id or controller.quorum.voters. A controller beside a static "
    "quorum can only be one of its voters.",
)
LISTENERS_NOT_UNDERSTOOD = error(
    "listeners-not-understood",
    "A listener is no NAME://host:port, has a name or a port that another one has, or has no "
    "security protocol that Kafka knows.",
    "Refuses to start.",
    "Correct listeners, advertised.listeners or listener.security.protocol.map.",
)
CONTROLLER_LISTENERS_WRONG = error(
    "controller-listeners-wrong",
    "controller.listener.names doesn't fit process.roles: a controller needs a listener of each of "
    "these names, and a node that is no controller, or nothing else, may have no other kind.",
    "Refuses to start.",
    "Name the controllers' listeners in controller.listener.names. A controller alone has only "
    "these listeners, a broker alone has none of them.",
)
BROKER_LISTENERS_WRONG = error(
    "broker-listeners-wrong",
    "A broker has no listener for clients and other brokers, or advertises one that it doesn't "
    "have, or an address that nobody can reach.",
    "Refuses to start.",
    "Correct listeners, advertised.listeners and inter.broker.listener.name.",
)
KEY_STORE_UNUSABLE = error(
    "key-store-unusable",
    "A listener with TLS, or the way to the controllers, has a key store or trust store that can't "
    "be loaded: the file is missing or of another type, or its settings don't fit each other.",
    "Refuses to start: Failed to load SSL keystore, or a setting of a store is invalid.",
    "Correct the ssl. settings that the finding names. A PEM store takes no store password; JKS "
    "and PKCS12 need one.",
)
SASL_LOGIN_WRONG = error(
    "sasl-login-wrong",
    "A listener with SASL, or the way to the controllers, has no login module for one of its "
    "mechanisms, or one that Kafka can't read.",
    "Refuses to start: Could not find a 'KafkaServer' entry, or an error of the JAAS config.",
    "Set listener.name.LISTENER.MECHANISM.sasl.jaas.config, with both names in small letters. If "
    "the JVM's java.security.auth.login.config has it, name that file by --login-config.",
)
SASL_MECHANISM_NOT_ENABLED = error(
    "sasl-mechanism-not-enabled",
    "A node is to log in to controllers or brokers by a SASL mechanism that their listener doesn't "
    "enable.",
    "Refuses to start where it is the mechanism between brokers. Otherwise starts, and the "
    "controllers refuse its login.",
    "Add the mechanism to sasl.enabled.mechanisms of that listener, or name another by "
    "sasl.mechanism.controller.protocol or sasl.mechanism.inter.broker.protocol.",
)
CONTROLLER_SECURITY_DIFFERS = error(
    "controller-security-differs",
    "A node speaks another security protocol to the controllers than they do, or their listener "
    "with TLS has no key store.",
    "Starts. The controllers refuse its connections, so it waits for ever.",
    "Let listener.security.protocol.map give the controllers' listener the same protocol on each "
    "node, and give a listener with TLS a key store.",
)
LOG_DIRECTORY_NOT_FORMATTED = error(
    "log-directory-not-formatted",
    "A log directory of the node is missing, or has no meta.properties: it was never formatted, or "
    "the wrong disk is mounted there.",
    "Refuses to start: a directory has no meta.properties.",
    "If the node is new, format it. If it has run before, find its disk: an empty disk in its "
    "place lacks what the node has acknowledged.",
    ("strimzi/strimzi-kafka-operator#9426",),
)
LOG_DIRECTORY_UNUSABLE = error(
    "log-directory-unusable",
    "The directory of the metadata log is no folder, or its meta.properties can't be read or "
    "decoded, or nothing can be written there; or a broker can't make its first files in another "
    "log directory.",
    "Refuses to start.",
    "Mount the right disk, let Kafka's user own it, and restore meta.properties from a copy.",
)
LOG_DIRECTORY_OFFLINE = warning(
    "log-directory-offline",
    "A log directory other than the metadata log's is no folder, can't be written, or its "
    "meta.properties can't be read or decoded.",
    "Starts without it: its partitions are offline until the directory is repaired.",
    "Mount the right disk there, or take the directory out of log.dirs.",
)
NODE_ID_DIFFERS = error(
    "node-id-differs",
    "meta.properties of a log directory names another node than node.id: the disk is another "
    "node's, or the id was changed.",
    "Refuses to start: the stored node id doesn't match the previous one.",
    "Give the node its own disk, or set node.id back to the id in meta.properties.",
)
DIRECTORY_ID_WRONG = error(
    "directory-id-wrong",
    "Two log directories of one node have one directory.id, or a directory has an id that Kafka "
    "reserves: a meta.properties was copied or made by hand.",
    "Refuses to start.",
    "Keep the directory.id of the metadata log's directory, and take that line out of the other "
    "meta.properties: Kafka makes a new id.",
)
METADATA_LOG_ELSEWHERE = error(
    "metadata-log-elsewhere",
    "A __cluster_metadata-0 lies in a log directory that isn't the metadata log's: "
    "metadata.log.dir, or the order of log.dirs, was changed.",
    "Refuses to start: Found unexpected metadata location in data directory.",
    "Let metadata.log.dir name the directory with the newest metadata log. Keep a copy of any "
    "other __cluster_metadata-0, and move it away.",
    ("apache/kafka#22418",),
)
RELEASE_CANNOT_READ_LOG = error(
    "release-cannot-read-log",
    "The metadata log's directory has what the node's release can't read: a level, a record, or a "
    "file.",
    "Ends at each start, as soon as it reads that place.",
    "Run the release that wrote it, or name another release by --release. `kraftlake plan "
    "--downgrade-binaries R` says what would let an older release read it.",
)
STATIC_VOTERS_NOT_NAMED = error(
    "static-voters-not-named",
    "The quorum is static, and controller.quorum.voters, which names its voters, is missing.",
    "Starts, knows no voter, and waits: the node takes part in no election.",
    "Set controller.quorum.voters again, on each node, to the voters that the log's newest "
    "LeaderChange record names.",
    ("bitnami/charts#34015",),
)
NO_VOTERS_ANYWHERE = error(
    "no-voters-anywhere",
    "No voter is named: neither in controller.quorum.voters, nor in the log, nor by formatting "
    "with --standalone or --initial-controllers.",
    "Starts, and waits for ever: nobody may elect a leader.",
    "Format the empty controllers again with --initial-controllers, or one with --standalone and "
    "the others with --no-initial-controllers.",
)
FORMATTED_WITHOUT_VOTERS = warning(
    "formatted-without-voters",
    "No leader was ever elected, and no directory names a voter: nodes were formatted without "
    "--standalone and --initial-controllers, and started without controller.quorum.voters.",
    "Starts, and waits for ever, unless voters elsewhere lead.",
    "If all controllers were given: format the empty ones again with the same "
    "--initial-controllers, or one with --standalone. Otherwise add the voters' directories.",
    ("KIP-853",),
)
BOOTSTRAP_RECORDS_DIFFER = warning(
    "bootstrap-records-differ",
    "No leader was ever elected, and nodes that may lead were formatted with different SCRAM "
    "credentials or feature levels.",
    "Lets the first leader write its own records; those of the other nodes are lost, so that "
    "brokers or clients may fail to log in.",
    "Format the empty voters again with the same --add-scram, --release-version and --feature on "
    "each.",
    ("KIP-900",),
)
CONFIGURED_VOTERS_DIFFER = error(
    "configured-voters-differ",
    "controller.quorum.voters names other voters than the static quorum's log has.",
    "Counts a majority of the configured voters: with fewer voters it may elect a leader that "
    "lacks committed records, with more voters it may elect no leader.",
    "Name the voters that the log has, on each node, before any is started. A static quorum can't "
    "change its voters.",
    ("strimzi/strimzi-kafka-operator#6862", "bitnami/charts#16011"),
)
VOTER_ADDRESS_DIFFERS = error(
    "voter-address-differs",
    "A voter listens at another port than the one at which the others look for it.",
    "Starts. The others don't reach the node, so it neither votes nor leads.",
    "Let controller.quorum.voters name the port of the controller's listener.",
)
NO_CONTROLLER_AT_ADDRESS = warning(
    "no-controller-at-address",
    "No address at which the node looks for its controllers is one of the controllers that were "
    "given.",
    "Starts, and asks there for the leader: where no controller answers, it waits for ever.",
    "Correct controller.quorum.bootstrap.servers, or controller.quorum.voters, unless a load "
    "balancer stands there.",
)
LINE_WITHOUT_KEY = warning(
    "line-without-key",
    "A line of the settings has no = or : in it, or is no text.",
    "Reads its first word as a key, and the rest as the value.",
    "Correct the line. A comment begins with #.",
)
SETTING_TWICE = warning(
    "setting-twice",
    "A key stands twice in the settings, with different values.",
    "Uses the last value, and prints no warning.",
    "Keep one of the lines.",
)
SETTING_UNKNOWN = warning(
    "setting-unknown",
    "Kafka knows no setting of this name, but a similar one; or the name is one of a topic's "
    "settings, or of an older release.",
    "Ignores it: the default stays in force.",
    "Correct the name, or take the line out.",
)
SETTING_OF_A_PLUGIN = info(
    "setting-of-a-plugin",
    "Kafka knows no setting of this name, nor a similar one.",
    "Gives it to plugins, and ignores it otherwise.",
    "Nothing, if a plugin reads it.",
)

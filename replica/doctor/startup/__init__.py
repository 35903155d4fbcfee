"""Judges whether a node starts and joins its quorum, by its server.properties and its log
directories: `kraftlake check --config`.

    node = StartingNode(node_config(path, data), log_dirs, release, node_log(member, level))
    starts = judge_starts([node, ...])   # each node's start, and the quorum's election

  known_settings    the settings that Kafka knows, with their kinds and bounds
  node_config       the settings in a server.properties
  node_log          what a metadata log says about the voters
  obstacle          the values: a node with its files, and a finding with its effect on the start
  line_rules        rules about single lines
  settings_rules    rules about the settings together
  jaas              whether Kafka reads a login module in sasl.jaas.config
  security_rules    rules about TLS and SASL
  directory_rules   rules about the log directories
  quorum_rules      rules about a node among the voters
  judging           applies all rules, in the order in which Kafka checks the settings

Each rule is a value in replica.doctor.check.catalogue.startup. Judging reads no file: the values of
log directories come from replica.format.log_dirs, those of key stores from
replica.format.key_stores.
"""

"""A Hive metastore service: Hive's own, of pyspark's jars, over Derby, in a process of its own.

    python -m tests.pipelines.catalog.hive_metastore FOLDER

serves on a free port of 127.0.0.1, which it prints, until it is ended. Hive's main class would
listen on every address; so the same parts are put together here.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway


def serve(folder: Path) -> None:
    """Serves the metastore. Does not return."""
    # `--conf` starts no Spark here, only a JVM with pyspark's jars
    conf = SparkConf(loadDefaults=False)
    conf.set("spark.driver.extraJavaOptions", f"-Dderby.stream.error.file={folder / 'derby.log'}")
    jvm: Any = launch_gateway(conf).jvm  # type: ignore[no-untyped-call]
    thrift, metastore = jvm.org.apache.thrift, jvm.org.apache.hadoop.hive.metastore
    address = jvm.java.net.InetSocketAddress("127.0.0.1", 0)
    socket = thrift.transport.TServerSocket(address)
    arguments = thrift.server.TThreadPoolServer.Args(socket)
    arguments.processor(metastore.TSetIpAddressProcessor(_handler(jvm, folder)))
    arguments.transportFactory(thrift.transport.TTransportFactory())
    arguments.protocolFactory(thrift.protocol.TBinaryProtocol.Factory())
    server = thrift.server.TThreadPoolServer(arguments)
    print(socket.getServerSocket().getLocalPort(), flush=True)  # noqa: T201 - whoever started it
    server.serve()


def _handler(jvm: Any, folder: Path) -> Any:
    settings = jvm.org.apache.hadoop.hive.conf.HiveConf()
    database = f"jdbc:derby:;databaseName={folder / 'metastore_db'};create=true"
    settings.set("javax.jdo.option.ConnectionURL", database)
    settings.set("hive.metastore.warehouse.dir", (folder / "warehouse").as_uri())
    settings.set("datanucleus.schema.autoCreateAll", "true")
    settings.set("hive.metastore.schema.verification", "false")
    server = jvm.org.apache.hadoop.hive.metastore.HiveMetaStore
    handler = server.HMSHandler("metastore", settings, False)
    return server.newRetryingHMSHandler(handler, settings, False)


if __name__ == "__main__":
    serve(Path(sys.argv[1]).absolute())

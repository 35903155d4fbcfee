"""A node that gives a test's answers to Produce."""

import asyncio
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

from replica.wire.apis.cluster import METADATA
from replica.wire.apis.writing import PRODUCE
from tests.replica.node.running import TOPIC, TOPIC_ID
from tests.replica.wire import loopback


class Scripted:
    """A node that leads. It answers Produce with the given answers; for None it closes the
    connection."""

    def __init__(self, *codes):
        self.codes = list(codes)
        self.port = 0
        self.asked = 0

    async def __call__(self, client, request):
        if request.api is METADATA:
            return self._metadata()
        self.asked += 1
        code = self.codes.pop(0)
        if code is None:
            raise ConnectionResetError
        partition = {"index": 0, "errorCode": int(code), "baseOffset": 7}
        topic = {"name": TOPIC, "topicId": TOPIC_ID, "partitionResponses": [partition]}
        return {"responses": [topic]}

    def _metadata(self):
        partition = {
            **{"errorCode": 0, "partitionIndex": 0, "leaderId": 1, "leaderEpoch": 1},
            **{"replicaNodes": [1], "isrNodes": [1], "offlineReplicas": []},
        }
        topic = {"errorCode": 0, "name": TOPIC, "topicId": TOPIC_ID, "partitions": [partition]}
        return {
            "brokers": [{"nodeId": 1, "host": "127.0.0.1", "port": self.port}],
            "clusterId": "c",
            "controllerId": 1,
            "topics": [topic],
        }

    @contextlib.asynccontextmanager
    async def serving(self):
        served = {METADATA.key: METADATA.versions, PRODUCE.key: PRODUCE.versions}
        async with loopback.running(self, served=served) as server:
            self.port = server.port
            yield

    @contextlib.contextmanager
    def in_thread(self):
        started, done = threading.Event(), threading.Event()

        async def live():
            async with self.serving():
                started.set()
                await asyncio.to_thread(done.wait)

        with ThreadPoolExecutor(1) as thread:
            living = thread.submit(asyncio.run, live())
            assert started.wait(30)
            try:
                yield
            finally:
                done.set()
            living.result()

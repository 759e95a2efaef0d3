"""Requests shared by many scenarios, over wire.Broker."""

import itertools
import time

from harness import check, expect
from records import batch, batches
from wire import Broker

NOT_READY = (3, 5, 6)  # A topic that was just created may not be served yet.
COORDINATOR_NOT_READY = (14, 15, 16)
READY_SECONDS_MAX = 20
NAMES = itertools.count(1)


def fresh(prefix):
    return f"{prefix}-{int(time.time())}-{next(NAMES)}"


def create_topic(address, name, partitions=1, **configs):
    configs = [{"name": key.replace("_", "."), "value": str(value)}
               for key, value in configs.items()]
    with Broker(address) as broker:
        topic = {"name": name, "num_partitions": partitions, "replication_factor": 1,
                 "configs": configs}
        answer = broker.call("CreateTopics", 3, topics=[topic], timeout_ms=10000)
        expect(answer["topics"][0]["error_code"], 0, f"creating {name}")
        limit = time.monotonic() + READY_SECONDS_MAX
        for index in range(partitions):
            while offset_of(broker, name, index, -1)["error_code"] in NOT_READY:
                check(time.monotonic() < limit, f"{name} is not served after its creation")
                time.sleep(0.02)
    return name


def topic(address, prefix="t", partitions=1, **configs):
    return create_topic(address, fresh(prefix), partitions, **configs)


def offset_of(broker, name, partition, timestamp):
    answer = broker.call("ListOffsets", 2, replica_id=-1, topics=[
        {"name": name, "partitions": [{"partition_index": partition, "timestamp": timestamp}]}])
    return answer["topics"][0]["partitions"][0]


def end_offset(broker, name, partition=0):
    found = offset_of(broker, name, partition, -1)
    expect(found["error_code"], 0, "ListOffsets")
    return found["offset"]


def produce_request(name, records, partition=0, acks=-1):
    return {"acks": acks, "timeout_ms": 10000, "topic_data": [
        {"name": name, "partition_data": [{"index": partition, "records": records}]}]}


def produce(broker, name, records, partition=0):
    """The partition's response; records is a batch or a list of values."""
    if isinstance(records, list):
        records = batch(records)
    answer = broker.call("Produce", 7, **produce_request(name, records, partition))
    return answer["responses"][0]["partition_responses"][0]


def fetch_request(name, offset, partition=0, wait=0, least=1, most=1 << 20):
    return {"replica_id": -1, "max_wait_ms": wait, "min_bytes": least, "max_bytes": 50 << 20,
            "isolation_level": 1, "session_epoch": -1, "topics": [{"topic": name, "partitions": [
                {"partition": partition, "current_leader_epoch": -1, "fetch_offset": offset,
                 "log_start_offset": -1, "partition_max_bytes": most}]}]}


def partition_of(answer):
    return answer["responses"][0]["partitions"][0]


def fetch(broker, name, offset, **options):
    return partition_of(broker.call("Fetch", 11, **fetch_request(name, offset, **options)))


def values_in(data):
    return [value for _, _, _, found in batches(data or b"") for _, value in found]


def retried(call):
    """Repeats a call until the coordinator is available."""
    limit = time.monotonic() + READY_SECONDS_MAX
    while (answer := call())["error_code"] in COORDINATOR_NOT_READY and time.monotonic() < limit:
        time.sleep(0.05)
    return answer


def producer_id(broker):
    answer = retried(lambda: broker.call("InitProducerId", 1, transaction_timeout_ms=60000))
    expect(answer["error_code"], 0, "InitProducerId")
    return answer["producer_id"], answer["producer_epoch"]


def topic_id(broker, name):
    answer = broker.call("Metadata", 12, topics=[{"name": name}])
    return answer["topics"][0]["topic_id"]

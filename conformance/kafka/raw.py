"""Cases that no client produces, as hand-made frames. Numbers as in README.md."""

import socket
import ssl
import struct
import threading
import time

import client
from harness import check, expect
from records import batch, batches
from wire import Broker, Closed, MESSAGES, ProtocolError, Reader

UNKNOWN_API_KEY = 500
HANDSHAKE = {"client_software_name": "raw", "client_software_version": "1"}


def c02_version_of_the_handshake(context):
    with Broker(context.address) as broker:
        broker.send_frame(struct.pack(">hhih", 18, 99, 7, 1) + b"c" + b"\0\x02a\x02b\0")
        reader = Reader(broker.receive_frame())
        expect(reader.number(">i"), 7, "correlation id")
        expect(reader.number(">h"), 35, "error")
        check(reader.number(">i") >= 1, "no key list")
        for version in (0, 3):
            answer = broker.call("ApiVersions", version, **HANDSHAKE)
            expect(answer["error_code"], 0, f"ApiVersions v{version}")
            keys = {entry["api_key"] for entry in answer["api_keys"]}
            check({0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 18, 22} <= keys, f"keys {keys}")


def c03_unknown_requests_close_the_connection(context):
    for key, version in ((0, 99), (UNKNOWN_API_KEY, 0)):
        with Broker(context.address, timeout=5) as broker:
            broker.send_frame(struct.pack(">hhih", key, version, 1, 1) + b"c" + bytes(8))
            try:
                broker.receive_frame()
                check(False, f"key {key} v{version} was answered")
            except Closed:
                pass
    for junk in (struct.pack(">i", -5), struct.pack(">i", 1 << 30) + b"x" * 64, b"GET / HTTP/1.1\r\n"):
        with Broker(context.address, timeout=5) as broker:
            broker.socket.sendall(junk)
            try:
                check(broker.socket.recv(1) == b"", "junk was answered")
            except ConnectionError:
                pass
    with Broker(context.address) as broker:
        broker.call("ApiVersions", 0)


def c08_acks_0_has_no_answer(context):
    name = client.topic(context.address, "acks0")
    with Broker(context.address) as broker:
        broker.send("Produce", 7, answered=False,
                    **client.produce_request(name, batch([b"a"]), acks=0))
        expect(client.produce(broker, name, [b"b"])["base_offset"], 1, "base offset after acks=0")
        expect(client.values_in(client.fetch(broker, name, 0)["records"]), [b"a", b"b"], "values")
        refused = broker.call("Produce", 7, **client.produce_request(name, batch([b"c"]), acks=2))
        code = refused["responses"][0]["partition_responses"][0]["error_code"]
        expect(code, 21, "error of acks=2")


def c11_fetch_at_the_end_waits(context):
    name = client.topic(context.address, "wait")
    with Broker(context.address) as broker:
        began = time.monotonic()
        got = client.fetch(broker, name, 0, wait=1000)
        seconds = time.monotonic() - began
        expect(got["error_code"], 0, "error")
        check(not got["records"], "records at the end")
        check(0.95 <= seconds <= 1.5, f"answered after {seconds:.2f} s")


def c12_fetch_wakes_on_a_write(context):
    name = client.topic(context.address, "wake")
    with Broker(context.address) as reader, Broker(context.address) as writer:
        client.produce(writer, name, [b"warm"])
        reader.send("Fetch", 11, **client.fetch_request(name, 1, wait=10000))
        time.sleep(0.3)
        client.produce(writer, name, [b"news"])
        written = time.monotonic()
        got = client.partition_of(reader.receive())
        late = time.monotonic() - written
        expect(client.values_in(got["records"]), [b"news"], "values")
        check(late <= 0.1, f"woke {late * 1000:.0f} ms after the write was acknowledged")
        return f"{late * 1000:.1f} ms after the acknowledgement"


def c13_offset_out_of_range(context):
    name = client.topic(context.address, "range")
    with Broker(context.address) as broker:
        client.produce(broker, name, [b"a", b"b"])
        for offset in (3, 100):
            began = time.monotonic()
            got = client.fetch(broker, name, offset, wait=5000)
            expect(got["error_code"], 1, f"error at offset {offset}")
            check(time.monotonic() - began < 2, "the error was held back")


def c14_a_big_message_is_returned_whole(context):
    name = client.topic(context.address, "big")
    value = bytes(range(256)) * 2400
    with Broker(context.address) as broker:
        client.produce(broker, name, [value])
        client.produce(broker, name, [b"next"])
        got = client.fetch(broker, name, 0, most=1000)
        found = [values for _, _, _, values in batches(got["records"])]
        expect([value for _, value in found[0]], [value], "the first batch")


def c22_a_repeated_batch_is_stored_once(context):
    name = client.topic(context.address, "dup")
    with Broker(context.address) as broker:
        producer, epoch = client.producer_id(broker)
        first = batch([b"x", b"y"], producer, epoch, 0)
        for _ in range(2):
            got = client.produce(broker, name, first)
            expect((got["error_code"], got["base_offset"]), (0, 0), "error and base offset")
        expect(client.end_offset(broker, name), 2, "log end")
        later = [batch([b"z"], producer, epoch, sequence) for sequence in range(2, 6)]
        offsets = [client.produce(broker, name, data)["base_offset"] for data in later]
        again = client.produce(broker, name, later[0])
        expect((again["error_code"], again["base_offset"]), (0, offsets[0]), "an older duplicate")
        expect(client.end_offset(broker, name), 6, "log end")


def c23_a_gap_in_sequences_is_refused(context):
    name = client.topic(context.address, "gap")
    with Broker(context.address) as broker:
        producer, epoch = client.producer_id(broker)
        codes = [client.produce(broker, name, batch([b"v"], producer, epoch, sequence))["error_code"]
                 for sequence in (0, 2, 1, 2)]
        expect(codes, [0, 45, 0, 0], "errors of the sequences 0, 2, 1, 2")
        expect(client.end_offset(broker, name), 3, "log end")


def c24_an_old_epoch_is_fenced(context):
    name = client.topic(context.address, "epoch")
    with Broker(context.address) as broker:
        producer, epoch = client.producer_id(broker)
        codes = [client.produce(broker, name, batch([b"v"], producer, epoch + step, sequence))
                 ["error_code"] for step, sequence in ((0, 0), (1, 0), (0, 1))]
        expect(codes, [0, 0, 47], "errors of the epochs 0, 1, 0")
        expect(client.end_offset(broker, name), 2, "log end")


def bad_batches_are_refused(context):
    name = client.topic(context.address, "bad")
    good = batch([b"good"])
    with Broker(context.address) as broker:
        broken = good[:-2] + bytes([good[-2] ^ 1]) + good[-1:]
        expect(client.produce(broker, name, broken)["error_code"], 2, "error of a flipped bit")
        code = client.produce(broker, name, good[:-3])["error_code"]
        check(code in (2, 87), f"error of a cut batch: {code}")
        expect(client.produce(broker, name, b"\x07" * 80)["error_code"], 2, "error of garbage")
        expect(client.produce(broker, name, good, partition=9)["error_code"], 3, "no partition")
        expect(client.produce(broker, "no-such-topic-here", good)["error_code"], 3, "no topic")
        expect(client.end_offset(broker, name), 0, "log end")
        huge = client.produce(broker, name, [b"x" * 1_100_000])["error_code"]
        expect(huge, 10, "error of a batch over max.message.bytes")


def frames_may_come_in_pieces(context):
    frame = bytes.fromhex("00000017001200030000000100 03636c69 00 04617070 04312e30 00")
    with Broker(context.address) as broker:
        for byte in frame:
            broker.socket.sendall(bytes([byte]))
            time.sleep(0.002)
        expect(broker.receive_frame()[:6].hex(), "000000010000", "the answer's head")
        broker.socket.sendall(frame * 50)
        for _ in range(50):
            expect(broker.receive_frame()[:6].hex(), "000000010000", "the answer's head")


def timestamps_resolve_to_records(context):
    name = client.topic(context.address, "times")
    start = 1_700_000_000_000
    with Broker(context.address) as broker:
        for index in range(10):
            client.produce(broker, name, batch([b"v"] * 10, timestamp=start + index * 1000))
        for timestamp, offset in ((start - 5, 0), (start + 3000, 30), (start + 3004, 34),
                                  (start + 3500, 40), (start + 9009, 99), (start + 10000, -1),
                                  (-1, 100), (-2, 0)):
            found = client.offset_of(broker, name, 0, timestamp)
            expect((found["error_code"], found["offset"]), (0, offset), f"offset at {timestamp}")
        newest = broker.call("ListOffsets", 7, replica_id=-1, topics=[{"name": name, "partitions": [
            {"partition_index": 0, "current_leader_epoch": -1, "timestamp": -3}]}])
        expect(newest["topics"][0]["partitions"][0]["offset"], 99, "offset of the newest timestamp")


def deleted_records_are_gone(context):
    name = client.topic(context.address, "delete")

    def delete(broker, offset):
        answer = broker.call("DeleteRecords", 1, timeout_ms=10000, topics=[
            {"name": name, "partitions": [{"partition_index": 0, "offset": offset}]}])
        found = answer["topics"][0]["partitions"][0]
        return found["error_code"], found["low_watermark"]

    with Broker(context.address) as broker:
        for index in range(20):
            client.produce(broker, name, [b"%d" % (index * 5 + i) for i in range(5)])
        expect(delete(broker, 52), (0, 52), "deleting up to 52")
        expect(delete(broker, 10), (0, 52), "deleting up to 10 afterwards")
        expect(delete(broker, 101)[0], 1, "error of deleting beyond the end")
        expect(client.offset_of(broker, name, 0, -2)["offset"], 52, "log start")
        expect(client.fetch(broker, name, 51)["error_code"], 1, "error below the start")
        got = client.fetch(broker, name, 52)
        expect(got["log_start_offset"], 52, "log start in Fetch")
        base, last, _, values = next(iter(batches(got["records"])))
        check(base <= 52 <= last, f"the first batch is {base} to {last}")
        expect(values[52 - base][1], b"52", "the record at the start")
        expect(delete(broker, -1), (0, 100), "deleting everything")
        expect(client.produce(broker, name, [b"new"])["base_offset"], 100, "the next offset")


SIMPLE = {  # Requests that every version has; the topic is filled in.
    "ApiVersions": lambda name: HANDSHAKE,
    "Metadata": lambda name: {"topics": [{"name": name}]},
    "ListOffsets": lambda name: {"replica_id": -1, "topics": [
        {"name": name, "partitions": [{"current_leader_epoch": -1, "timestamp": -1}]}]},
    "FindCoordinator": lambda name: {"key": "g", "coordinator_keys": ["g"]},
    "OffsetCommit": lambda name: {"group_id": "g-" + name, "generation_id": -1, "topics": [
        {"name": name, "partitions": [{"committed_offset": 1, "committed_metadata": ""}]}]},
    "OffsetFetch": lambda name: {"group_id": "g-" + name, "topics": [
        {"name": name, "partition_indexes": [0]}], "groups": [{"group_id": "g-" + name,
                                                               "topics": None}]},
    "DescribeGroups": lambda name: {"groups": ["g-" + name]},
    "ListGroups": lambda name: {},
    "CreateTopics": lambda name: {"topics": [{"name": name, "num_partitions": 1,
                                              "replication_factor": 1}], "timeout_ms": 1000},
    "CreatePartitions": lambda name: {"topics": [{"name": name, "count": 1}], "timeout_ms": 1000},
    "DescribeConfigs": lambda name: {"resources": [{"resource_type": 2, "resource_name": name}]},
    "DeleteRecords": lambda name: {"topics": [{"name": name, "partitions": [{"offset": 0}]}],
                                   "timeout_ms": 1000},
    "InitProducerId": lambda name: {"transaction_timeout_ms": 1000, "producer_id": -1,
                                    "producer_epoch": -1},
    "Heartbeat": lambda name: {"group_id": "g-" + name, "member_id": "nobody"},
    "SyncGroup": lambda name: {"group_id": "g-" + name, "member_id": "nobody"},
    "LeaveGroup": lambda name: {"group_id": "g-" + name, "member_id": "nobody"},
    "OffsetForLeaderEpoch": lambda name: {"replica_id": -1, "topics": [
        {"topic": name, "partitions": [{"current_leader_epoch": -1}]}]},
    "Produce": lambda name: client.produce_request(name, batch([b"v"])),
    "DescribeCluster": lambda name: {},
}
DROPPED_FIELDS = {"OffsetFetch": lambda body, version: {
    key: value for key, value in body.items() if (key == "groups") == (version >= 8)}}


def every_version_answers_as_described(context):
    name = client.topic(context.address, "versions")
    asked = 0
    with Broker(context.address) as broker:
        ranges = {entry["api_key"]: entry for entry in broker.call("ApiVersions", 0)["api_keys"]}
        for api, body in SIMPLE.items():
            message = MESSAGES[api]
            if message.key not in ranges:
                continue
            offered = ranges[message.key]
            for version in range(max(message.min, offered["min_version"]),
                                 min(message.max, offered["max_version"]) + 1):
                fields = DROPPED_FIELDS.get(api, lambda body, version: body)(body(name), version)
                try:
                    broker.call(api, version, **fields)
                except (ProtocolError, socket.timeout) as error:
                    raise ProtocolError(f"{api} v{version}: {error}") from error
                asked += 1
    return f"{asked} versions of {len(SIMPLE)} requests"


def fetch_by_topic_id(context):
    name = client.topic(context.address, "byid")
    with Broker(context.address) as broker:
        client.produce(broker, name, [b"v"])
        identity = client.topic_id(broker, name)
        check(identity != bytes(16), "no topic id")
        request = client.fetch_request(name, 0)
        request["topics"][0].pop("topic")
        for topic, code in ((identity, 0), (b"\x07" * 16, 100)):
            request["topics"][0]["topic_id"] = topic
            got = client.partition_of(broker.call("Fetch", 13, **request))
            expect(got["error_code"], code, f"error for the id {topic.hex()}")


def leader_epochs_are_compared(context):
    name = client.topic(context.address, "epochs")
    with Broker(context.address) as broker:
        metadata = broker.call("Metadata", 12, topics=[{"name": name}])
        epoch = metadata["topics"][0]["partitions"][0]["leader_epoch"]
        # FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH.
        wanted = [(-1, 0), (epoch, 0), (epoch + 1, 75)] + ([(epoch - 1, 74)] if epoch > 0 else [])
        for sent, code in wanted:
            request = client.fetch_request(name, 0)
            request["topics"][0]["partitions"][0]["current_leader_epoch"] = sent
            got = client.partition_of(broker.call("Fetch", 11, **request))
            expect(got["error_code"], code, f"Fetch with epoch {sent} of {epoch}")
            got = broker.call("ListOffsets", 5, replica_id=-1, isolation_level=0, topics=[
                {"name": name, "partitions": [{"partition_index": 0, "current_leader_epoch": sent,
                                               "timestamp": -1}]}])
            got = got["topics"][0]["partitions"][0]["error_code"]
            expect(got, code, f"ListOffsets with epoch {sent} of {epoch}")


def unknown_fetch_sessions_are_refused(context):
    name = client.topic(context.address, "session")
    with Broker(context.address) as broker:
        request = client.fetch_request(name, 0)
        request.update(session_id=123456, session_epoch=5)
        answer = broker.call("Fetch", 11, **request)
        expect(answer["error_code"], 70, "error of an unknown session")
        expect(len(answer["responses"]), 0, "partitions of an unknown session")


def other_security_is_refused(context):
    with Broker(context.address) as broker:
        answer = broker.call("SaslHandshake", 1, mechanism="PLAIN")
        expect(answer["error_code"], 34, "error of SaslHandshake")
    tls = ssl.create_default_context()
    tls.check_hostname = False
    tls.verify_mode = ssl.CERT_NONE
    with Broker(context.address, timeout=10) as broker:
        try:
            tls.wrap_socket(broker.socket)
            check(False, "TLS was agreed on")
        except (ssl.SSLError, OSError) as error:
            check(not isinstance(error, TimeoutError), "a TLS client waits without an end")
    if not context.server.external:
        log = context.server.log.read_text(errors="replace")
        check("TLS" in log, "the log does not say that a client speaks TLS")


def answers_keep_their_order(context):
    name = client.topic(context.address, "order")
    with Broker(context.address) as broker:
        for index in range(40):
            broker.send("Produce", 7, **client.produce_request(name, batch([b"%d" % index])))
            broker.send("ApiVersions", 0)
        for index in range(40):
            answer = broker.receive()["responses"][0]["partition_responses"][0]
            expect(answer["base_offset"], index, "base offset")
            broker.receive()
        expect(client.values_in(client.fetch(broker, name, 0)["records"]),
               [b"%d" % i for i in range(40)], "values")


def many_connections(context):
    name = client.topic(context.address, "many")
    brokers = [Broker(context.address) for _ in range(300)]
    for broker in brokers:
        broker.send("Produce", 7, **client.produce_request(name, batch([b"v"])))
    offsets = sorted(broker.receive()["responses"][0]["partition_responses"][0]["base_offset"]
                     for broker in brokers)
    expect(offsets, list(range(300)), "offsets of 300 connections")
    closers = [threading.Thread(target=broker.socket.close) for broker in brokers]
    for closer in closers:
        closer.start()
    for closer in closers:
        closer.join()


SCENARIOS = [
    ("C02 an unknown handshake version is answered", c02_version_of_the_handshake),
    ("C03 unknown requests close the connection", c03_unknown_requests_close_the_connection),
    ("C08 acks=0 has no answer", c08_acks_0_has_no_answer),
    ("C11 a fetch at the end waits", c11_fetch_at_the_end_waits),
    ("C12 a waiting fetch wakes on a write", c12_fetch_wakes_on_a_write),
    ("C13 an offset out of range is reported at once", c13_offset_out_of_range),
    ("C14 a big message is returned whole", c14_a_big_message_is_returned_whole),
    ("C22 a repeated batch is stored once", c22_a_repeated_batch_is_stored_once),
    ("C23 a gap in sequences is refused", c23_a_gap_in_sequences_is_refused),
    ("C24 an old epoch is fenced", c24_an_old_epoch_is_fenced),
    ("raw bad batches are refused", bad_batches_are_refused),
    ("raw frames may come in pieces", frames_may_come_in_pieces),
    ("raw timestamps resolve to records", timestamps_resolve_to_records),
    ("raw deleted records are gone", deleted_records_are_gone),
    ("raw every version answers as described", every_version_answers_as_described),
    ("raw fetch by topic id", fetch_by_topic_id),
    ("raw leader epochs are compared", leader_epochs_are_compared),
    ("raw unknown fetch sessions are refused", unknown_fetch_sessions_are_refused),
    ("raw other security is refused", other_security_is_refused),
    ("raw answers keep their order", answers_keep_their_order),
    ("raw many connections", many_connections),
]

"""Scenarios with kcat (librdkafka)."""

import shutil
import signal
import time

import client
from churn import Member, churn
from harness import Failed, Server, Skipped, check, expect, wait_until
from wire import Broker

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
MESSAGES = 1_000_000
TEXT = b"the quick brown fox jumps over the lazy dog while the glacier moves on "
MISSING = b"Unknown topic or partition"


def kcat(context, *arguments):
    if shutil.which("kcat") is None:
        raise Skipped("no kcat on this machine")
    return ["kcat", "-b", context.address, *arguments]


def run(context, *arguments, fails=False, **options):
    done = context.run(kcat(context, *arguments), **options)
    if (done.returncode != 0) != fails:
        output = done.stderr.decode(errors="replace")[-200:]
        raise Failed(f"kcat {' '.join(map(str, arguments))} ended with {done.returncode}: {output}")
    return done


def consume(context, name, *arguments):
    """The messages as `offset value` lines."""
    done = run(context, "-C", "-t", name, "-e", "-q", "-f", "%o %s\n", *arguments)
    return done.stdout.decode().splitlines()


def numbered(context, count):
    """A file of `count` lines, each different."""
    path = context.folder / f"lines-{count}"
    if not path.exists():
        with open(path, "wb") as file:
            file.writelines(b"%08d %s%d\n" % (i, TEXT[:i % len(TEXT)], i * 7919)
                            for i in range(count))
    return path


def c01_metadata_of_an_empty_server(context):
    output = run(context, "-L").stdout.decode()
    host = context.address
    check(f"at {host}" in output and "(controller)" in output and " 1 brokers:" in output, output)
    if context.server.external:
        return "not empty: another's server"
    check(" 0 topics:" in output, output)


def c04_auto_creation(context):
    name = client.fresh("auto")
    run(context, "-P", "-t", name, input=b"a\n")
    expect(consume(context, name, "-o", "beginning"), ["0 a"], "messages")


def c04_no_auto_creation(context):
    if not context.server.is_moraine():
        raise Skipped("how to switch it off is known of moraine only")
    server = Server(context.folder / "no-creation", ["--no-auto-create-topics"])
    server.data.parent.mkdir()
    try:
        server.start()
    except Failed as reason:
        raise Skipped(f"no way to switch it off: {reason}") from reason
    try:
        done = context.run(["kcat", "-b", server.address, "-P", "-t", "other", "-X",
                            "message.timeout.ms=3000"], input=b"a\n")
        check(done.returncode != 0 and b"Delivery failed" in done.stderr, done.stderr.decode())
    finally:
        server.stop()


def c05_a_missing_topic_is_not_made_by_reading(context):
    name = client.fresh("nope")
    done = run(context, "-C", "-t", name, "-e", fails=True)
    check(MISSING in done.stderr, done.stderr.decode())
    check(name not in run(context, "-L").stdout.decode(), "the topic was created")


def c06_keys(context):
    name = client.topic(context.address, "kv")
    run(context, "-P", "-t", name, "-K:", input=b"k1:v1\nk2:v2\n")
    done = run(context, "-C", "-t", name, "-e", "-q", "-f", "%o %k:%s\n")
    expect(done.stdout, b"0 k1:v1\n1 k2:v2\n", "messages")
    run(context, "-P", "-t", name, "-H", "a=1", "-H", "b=two", input=b"headers\n")
    done = run(context, "-C", "-t", name, "-o", "2", "-e", "-q", "-f", "%h %s\n")
    expect(done.stdout, b"a=1,b=two headers\n", "headers")


def c07_batches_are_compressed(context):
    text = TEXT * 10
    for codec in CODECS[1:]:
        name = client.topic(context.address, codec)
        done = run(context, "-P", "-t", name, "-z", codec, "-d", "msg",
                   input=b"\n".join([text] * 100) + b"\n")
        check(b"not compressing batch" not in done.stderr, f"{codec} was not used")
        expect(consume(context, name, "-o", "beginning", "-X", "check.crcs=true"),
               [f"{i} {text.decode()}" for i in range(100)], f"messages of {codec}")


def c08_acknowledgements(context):
    name = client.topic(context.address, "acks")
    for level in ("0", "1", "all"):
        run(context, "-P", "-t", name, "-X", f"acks={level}", input=b"x\n" * 100)
    wait_until(lambda: len(consume(context, name, "-o", "beginning")) == 300, "300 messages")


def c09_offsets_to_start_from(context):
    name = client.topic(context.address, "offsets")
    run(context, "-P", "-t", name, input=b"".join(b"%d\n" % i for i in range(10)))
    for start, count in (("beginning", 10), ("4", 6), ("-2", 2), ("end", 0)):
        expect(len(consume(context, name, "-o", start)), count, f"messages from {start}")
    done = run(context, "-C", "-t", name, "-e")
    check(b"Reached end of topic" in done.stderr and b"offset 10" in done.stderr,
          done.stderr.decode())


def c10_offsets_by_time(context):
    name = client.topic(context.address, "times")
    run(context, "-P", "-t", name, input=b"old\n" * 10)
    time.sleep(0.05)
    middle = int(time.time() * 1000)
    time.sleep(0.05)
    run(context, "-P", "-t", name, input=b"new\n" * 10)
    for timestamp, offset in ((-1, 20), (-2, 0), (middle, 10)):
        output = run(context, "-Q", "-t", f"{name}:0:{timestamp}").stdout.decode()
        check(f"offset {offset}" in output, f"{offset} wanted at {timestamp}: {output}")
    expect([line.split()[1] for line in consume(context, name, "-o", f"s@{middle}")],
           ["new"] * 10, "messages since a time")
    expect(len(consume(context, name, "-o", "beginning", "-o", f"e@{middle}")), 10,
           "messages up to a time")


def c13_a_bad_offset_is_recovered_from(context):
    name = client.topic(context.address, "recover")
    run(context, "-P", "-t", name, input=b"a\nb\n")
    expect(consume(context, name, "-o", "77", "-X", "auto.offset.reset=earliest"), ["0 a", "1 b"],
           "messages")


def group(context, name, group_id, *arguments):
    return kcat(context, "-G", group_id, "-X", "auto.offset.reset=earliest", "-X",
                "session.timeout.ms=6000", "-X", "heartbeat.interval.ms=500", *arguments, name)


def c15_committed_offsets(context):
    name = client.topic(context.address, "committed")
    run(context, "-P", "-t", name, input=b"x\n" * 50)
    group_id = client.fresh("g1")
    counts = [context.run(group(context, name, group_id, "-e", "-q")).stdout.count(b"x\n")
              for _ in range(2)]
    expect(counts, [50, 0], "messages of the two runs")


class GroupMember(Member):
    """A kcat in a group."""

    def __init__(self, context, name, group_id, number):
        command = group(context, name, group_id, "-u", "-f", "%p %o %s\n", "-X",
                        "auto.commit.interval.ms=100", "-X",
                        "topic.metadata.refresh.interval.ms=1000")
        super().__init__(context, command, group_id, number)

    def partitions(self):
        lines = [line for line in self.output("err").splitlines() if "rebalanced" in line]
        if not lines or "assigned: " not in lines[-1]:
            return 0
        return lines[-1].split("assigned: ")[1].count("[")


def c17_leaving_is_noticed_at_once(context):
    name = client.topic(context.address, "two", partitions=2)
    members = [GroupMember(context, name, client.fresh("g2"), 0)]
    group_id = members[0].path.name[:-2]
    members.append(GroupMember(context, name, group_id, 1))
    wait_until(lambda: [m.partitions() for m in members] == [1, 1], "one partition each", 40)
    members[0].process.send_signal(signal.SIGINT)
    began = time.monotonic()
    wait_until(lambda: members[1].partitions() == 2, "both partitions for the other", 5)
    return f"both partitions after {time.monotonic() - began:.1f} s"


def members_join_leave_and_die(context):
    # A kcat that ends may have consumed one message that it does not print: one for each of the
    # two.
    return churn(context, lambda name, group_id, number: GroupMember(context, name, group_id, number),
                 lambda name, data: run(context, "-P", "-t", name, input=data),
                 context.scaled(200_000), unprinted_max=2)


def growth_under_load(context):
    name = client.topic(context.address, "growth")
    count = context.scaled(200_000)
    reader = GroupMember(context, name, client.fresh("growth"), 0)
    with open(context.folder / "growth.err", "wb") as err:
        writer = context.spawn(kcat(context, "-P", "-t", name, "-X",
                                    "topic.metadata.refresh.interval.ms=200", "-X",
                                    "sticky.partitioning.linger.ms=0"),
                               stdin=-1, stderr=err)
    grown = iter((4, 16))
    with Broker(context.address) as broker:
        for start in range(0, count, count // 40):
            writer.stdin.write(b"".join(b"m%d\n" % i for i in range(start, start + count // 40)))
            writer.stdin.flush()
            time.sleep(0.1)
            if start in (count // 40 * 10, count // 40 * 20):
                answer = broker.call("CreatePartitions", 1, timeout_ms=10000,
                                     topics=[{"name": name, "count": next(grown), "assignments": None}])
                expect(answer["results"][0]["error_code"], 0, "CreatePartitions")
        writer.stdin.close()
        expect(writer.wait(60), 0, "kcat's exit code")
        ends = [client.end_offset(broker, name, index) for index in range(16)]
    expect(sum(ends), count, "messages in all partitions")
    check(min(ends) > 0, f"a new partition got nothing: {ends}")
    wanted = {f"m{i}" for i in range(count)}
    wait_until(lambda: reader.values() >= wanted,
               "a group reads every message, also of new partitions", 60, 0.2)


def deleted_records(context):
    name = client.topic(context.address, "trim")
    run(context, "-P", "-t", name, input=b"".join(b"%d\n" % i for i in range(1000)))
    with Broker(context.address) as broker:
        broker.call("DeleteRecords", 1, timeout_ms=10000, topics=[
            {"name": name, "partitions": [{"offset": 700}]}])
    lines = consume(context, name, "-o", "beginning")
    expect((len(lines), lines[0]), (300, "700 700"), "what is left")


def bulk(codec):
    def scenario(context):
        count = context.scaled(MESSAGES)
        source = numbered(context, count)
        name = client.topic(context.address, f"bulk-{codec}")
        began = time.monotonic()
        run(context, "-P", "-t", name, "-z", codec, "-X", "queue.buffering.max.messages=1000000",
            "-X", "acks=all", "-l", source)
        written = time.monotonic()
        target = context.folder / "consumed"
        with open(target, "wb") as out:
            reader = context.spawn(kcat(context, "-C", "-t", name, "-o", "beginning", "-e", "-q",
                                        "-X", "check.crcs=true", "-f", "%o %s\n"), stdout=out)
            expect(reader.wait(600), 0, "kcat's exit code")
        read = time.monotonic()
        compare(source, target, count)
        target.unlink()
        return (f"{count} messages, written at {count / (written - began):.0f}/s, "
                f"read at {count / (read - written):.0f}/s")
    return scenario


def compare(source, target, count):
    seen = 0
    with open(source, "rb") as wanted, open(target, "rb") as got:
        for offset, (left, right) in enumerate(zip(wanted, got)):
            check(right == b"%d %s" % (offset, left), f"message {offset} is {right[:60]!r}")
            seen += 1
        check(seen == count and got.read(1) == b"", f"{seen} of {count} messages")


SCENARIOS = [
    ("C04 topics are created by producing", c04_auto_creation),
    ("C04 unless that is switched off", c04_no_auto_creation),
    ("C05 a missing topic is not made by reading", c05_a_missing_topic_is_not_made_by_reading),
    ("C06 keys and headers", c06_keys),
    ("C07 batches are compressed", c07_batches_are_compressed),
    ("C08 every level of acknowledgement", c08_acknowledgements),
    ("C09 offsets to start from", c09_offsets_to_start_from),
    ("C10 offsets by time", c10_offsets_by_time),
    ("C13 a bad offset is recovered from", c13_a_bad_offset_is_recovered_from),
    ("C15 committed offsets", c15_committed_offsets),
    ("C17 leaving is noticed at once", c17_leaving_is_noticed_at_once),
    ("kcat deleted records are gone", deleted_records),
    ("kcat members join, leave and die", members_join_leave_and_die),
    ("kcat partitions grow under load", growth_under_load),
    *[(f"kcat 1,000,000 messages, {codec}", bulk(codec)) for codec in CODECS],
]

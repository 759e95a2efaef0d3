"""Scenarios with kafkajs and @platformatic/kafka; each runs a case of kafkajs.cjs or platformatic.mjs.

The packages go to build/conformance/kafka. Where they cannot be had, these scenarios are skipped.
"""

import json
import pathlib
import shutil
import subprocess
import time

import client
import kcat
from churn import Member, churn
from harness import Failed, ROOT, Skipped, check, expect, wait_until
from wire import Broker

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = ROOT / "build/conformance/kafka"
SCRIPTS = {"kafkajs": "kafkajs.cjs", "platformatic": "platformatic.mjs"}
CODECS = {"kafkajs": kcat.CODECS, "platformatic": kcat.CODECS}
MESSAGES = 100_000
NODE_WITH_ZSTD = (22, 15)
missing = None  # Why the packages are missing; "" when they are present.


def install():
    """Why the clients cannot run, or nothing."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        return "no npm and node on this machine"
    FOLDER.mkdir(parents=True, exist_ok=True)
    lock = (HERE / "package-lock.json").read_bytes()
    done = FOLDER / "installed"
    if not done.exists() or done.read_bytes() != lock:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, FOLDER)
        npm = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
                             cwd=FOLDER, capture_output=True, check=False, timeout=600)
        if npm.returncode != 0:
            return "npm cannot fetch the clients: " + npm.stderr.decode(errors="replace")[-120:]
        done.write_bytes(lock)
    for name in SCRIPTS.values():
        shutil.copy(HERE / name, FOLDER)
    return ""


def command(context, library, case, **options):
    global missing
    if missing is None:
        missing = install()
    if missing:
        raise Skipped(missing)
    return ["node", FOLDER / SCRIPTS[library], case, context.address, json.dumps(options)]


def run(context, library, case, **options):
    done = context.run(command(context, library, case, **options), seconds=300)
    if done.returncode != 0:
        raise Failed(f"{case}: {done.stderr.decode(errors='replace').strip()[-250:]}")
    return json.loads(done.stdout.decode().splitlines()[-1])


def node_version():
    output = subprocess.run(["node", "--version"], capture_output=True, check=False).stdout.decode()
    return tuple(int(part) for part in output.strip().lstrip("v").split(".")[:2])


def check_codec(library, codec):
    if library == "platformatic" and codec == "zstd" and node_version() < NODE_WITH_ZSTD:
        raise Skipped("its zstd needs Node 22.15")


def roundtrip(library, codec):
    def scenario(context):
        command(context, library, "")
        check_codec(library, codec)
        count = context.scaled(MESSAGES)
        name = client.topic(context.address, f"{library}-{codec}")
        began = time.monotonic()
        run(context, library, "roundtrip", topic=name, codec=codec, count=count)
        return f"{count} messages, {count / (time.monotonic() - began):.0f}/s there and back"
    return scenario


def exchange_with_kcat(library):
    """Each client must be able to read what the other compresses."""
    def scenario(context):
        command(context, library, "")
        for codec in kcat.CODECS:
            try:
                check_codec(library, codec)
            except Skipped:
                continue
            name = client.topic(context.address, f"from-kcat-{codec}")
            kcat.run(context, "-P", "-t", name, "-z", codec,
                     input=b"".join(b"%d\n" % i for i in range(5000)))
            run(context, library, "read_plain", topic=name, count=5000)
            name = client.topic(context.address, f"to-kcat-{codec}")
            run(context, library, "write", topic=name, codec=codec, count=5000)
            got = kcat.consume(context, name, "-o", "beginning", "-X", "check.crcs=true")
            expect(len(got), 5000, f"messages of {codec} that kcat reads")
            check(all(line.startswith(f"{i} message {i} ") for i, line in enumerate(got)),
                  f"what kcat reads of {codec}")
    return scenario


class NodeMember(Member):
    def __init__(self, context, library, name, group_id, number):
        super().__init__(context, command(context, library, "member", topic=name, group=group_id),
                         group_id, number)

    def partitions(self):
        lines = [line for line in self.output("err").splitlines() if line.startswith("assigned ")]
        return int(lines[-1].split()[1]) if lines else 0


def members(library):
    def scenario(context):
        return churn(context, lambda name, group_id, number: NodeMember(
            context, library, name, group_id, number),
            lambda name, data: kcat.run(context, "-P", "-t", name, input=data),
            context.scaled(20_000))
    return scenario


def idempotent(context, name, count, kills, **options):
    """Runs the idempotent producer, kills the server at the given counts, checks what is stored."""
    out = context.folder / f"{name}.out"
    with open(out, "wb") as file:
        producer = context.spawn(command(context, "kafkajs", "idempotent", topic=name, count=count,
                                         batch=10, codec="none", **options),
                                 stdout=file, stderr=subprocess.PIPE)
    for sent in kills:
        wait_until(lambda: f"sent {sent}\n" in out.read_text() or producer.poll() is not None,
                   f"{sent} messages sent", 120, 0.01)
        context.server.restart()
    if producer.wait(180) != 0:
        raise Failed("the producer failed: " + producer.stderr.read().decode()[-250:])
    got = kcat.consume(context, name, "-o", "beginning")
    numbers = [int(line.split()[2]) for line in got]
    expect(len(numbers), count, "messages stored")
    check(numbers == list(range(count)), "messages are out of order or repeated")


def across_kills(context):
    name = client.topic(context.address, "idempotent")
    count = context.scaled(100_000)
    idempotent(context, name, count, [count // 4, count // 2, count * 3 // 4])
    return f"{count} messages, 3 kills"


def c21_across_dropped_connections(context):
    name = client.topic(context.address, "dropped")
    idempotent(context, name, 10000, [], drops=True)


def c25_creating_topics(context):
    got = run(context, "kafkajs", "create_topics", topic=client.fresh("made"))
    expect(got, {"fresh": True, "existing": False, "name": 17, "partitions": 37,
                 "replication": 38}, "outcomes")


def c26_creating_partitions(context):
    name = client.topic(context.address, "grown", partitions=2)
    got = run(context, "kafkajs", "create_partitions", topic=name)
    expect(got, {"codes": [0, 37], "partitions": 4}, "outcomes")


def c27_configs(context):
    name = client.topic(context.address, "configs")
    got = run(context, "kafkajs", "configs", topic=name)
    default = ["604800000", 5]
    expect(got, {"before": default, "after": ["12345678", 1], "unknown": 40}, "kafkajs")
    name = client.topic(context.address, "configs")
    got = run(context, "platformatic", "configs", topic=name)
    expect((got["before"], got["set"], got["removed"]), (default, ["23456789", 1], default),
           "platformatic")
    check(40 in got["unknown"], f"an unknown config: {got['unknown']}")


def c28_platformatic_tour(context):
    got = run(context, "platformatic", "tour", topic=client.fresh("tour"))
    expect(got, {"latest": 100, "earliest": 0}, "offsets")


def offsets_by_time(library):
    def scenario(context):
        name = client.topic(context.address, "bytime")
        with Broker(context.address) as broker:
            for index in range(10):
                client.produce(broker, name, client.batch(
                    [b"v"] * 10, timestamp=1_700_000_000_000 + index * 1000))
        got = run(context, library, "times", topic=name, timestamp=1_700_000_004_003)
        expect(got["offsets"], [43], "the offset")
        if library == "kafkajs":
            expect(run(context, library, "seek", topic=name, offset=43)["first"], 43, "after seek")
    return scenario


def deleting_records(library):
    def scenario(context):
        name = client.topic(context.address, "trim")
        with Broker(context.address) as broker:
            client.produce(broker, name, [b"v"] * 100)
        got = run(context, library, "delete_records", topic=name, offset=50)
        expect(got["low"], 50, "the low watermark")
        expect(len(kcat.consume(context, name, "-o", "beginning")), 50, "messages left")
    return scenario


def platformatic_idempotent(context):
    name = client.topic(context.address, "idempotent")
    run(context, "platformatic", "idempotent", topic=name, count=context.scaled(20_000))


SCENARIOS = [
    ("C21 kafkajs, idempotent, across dropped connections", c21_across_dropped_connections),
    ("C25 kafkajs creates topics", c25_creating_topics),
    ("C26 kafkajs creates partitions", c26_creating_partitions),
    ("C27 configs are described and altered", c27_configs),
    ("C28 platformatic from creation to close", c28_platformatic_tour),
    ("platformatic idempotent producer", platformatic_idempotent),
    *[(f"{library} offsets by time", offsets_by_time(library)) for library in SCRIPTS],
    *[(f"{library} deletes records", deleting_records(library)) for library in SCRIPTS],
    *[(f"{library} and kcat read each other", exchange_with_kcat(library)) for library in SCRIPTS],
    *[(f"{library} members join, leave and die", members(library)) for library in SCRIPTS],
    *[(f"{library} 100,000 messages, {codec}", roundtrip(library, codec))
      for library in SCRIPTS for codec in CODECS[library]],
    ("kafkajs, idempotent, across kill -9 of the server", across_kills),
]

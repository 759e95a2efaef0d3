"""Scenarios with the Java client, franz-go, sarama, confluent-kafka, aiokafka and kafka-python.

Each runs a case of java/Client.java, go/ or python/clients.py. The packages are pinned beside those
files and go to build/conformance/kafka. Where they cannot be had, these scenarios are skipped.
"""

import pathlib
import shutil

import client
import kcat
from harness import Failed, ROOT, check, expect
from packages import Packages, fetch, install_python

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = ROOT / "build/conformance/kafka"
MESSAGES = 20_000
GROUP_MESSAGES = 2_000
RECREATE_SECONDS_MAX = 8  # Less than the wait of a broker for lost batches.
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
COPY_JARS = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
INVALID_CONFIG = 40


def install_java(pom):
    def install(folder):
        shutil.copy(HERE / "java" / pom, folder / "pom.xml")
        problem = fetch(["mvn", "-q", "-B", COPY_JARS, "-DoutputDirectory=jars"], folder,
                        "the Java client")
        return problem or fetch(["javac", "-cp", "jars/*", "-d", "classes",
                                 HERE / "java/Client.java"], folder, "the cases")
    return install


def install_go(folder):
    return fetch(["go", "build", "-o", folder / "clients", "."], HERE / "go", "the Go clients")


def java_command(packages):
    return lambda: ["java", "-Xmx256m", "-cp", f"{packages.need()}/classes:{packages.folder}/jars/*",
                    "Client"]


def python_command(packages, library):
    return lambda: [packages.need() / "venv/bin/python", "-B", HERE / "python/clients.py", library]


def packages(name, programs, pins, install):
    return Packages(FOLDER / name, programs, [HERE / pin for pin in pins], install)


JAVA = packages("java", ("mvn", "javac"), ("java/pom.xml", "java/Client.java"),
                install_java("pom.xml"))
JAVA_NEWEST = packages("java-newest", ("mvn", "javac"), ("java/newest.xml", "java/Client.java"),
                       install_java("newest.xml"))
GO = packages("go", ("go",), ("go/go.sum", "go/main.go", "go/franz.go", "go/sarama.go"), install_go)
PYTHON = packages("python", (), ("python/requirements.txt",),
                  install_python(HERE / "python/requirements.txt"))
PYTHON_OLD = packages("python-old", (), ("python/requirements-old.txt",),
                      install_python(HERE / "python/requirements-old.txt"))

COMMANDS = {
    "java 3.9": java_command(JAVA),
    "java 4.1": java_command(JAVA_NEWEST),
    "franz-go": lambda: [GO.need() / "clients", "franz-go"],
    "sarama": lambda: [GO.need() / "clients", "sarama"],
    "confluent-kafka": python_command(PYTHON, "confluent-kafka"),
    "aiokafka": python_command(PYTHON, "aiokafka"),
    "kafka-python": python_command(PYTHON, "kafka-python"),
    "kafka-python 2.0.2": python_command(PYTHON_OLD, "kafka-python"),
}


def run(context, library, case, **options):
    """The outcome of a case, as texts by their names."""
    words = [f"{key}={value}" for key, value in options.items()]
    done = context.run([*COMMANDS[library](), case, context.address, *words], seconds=300)
    if done.returncode != 0:
        raise Failed(f"{case}: {done.stderr.decode(errors='replace').strip()[-250:]}")
    return dict(word.split("=", 1) for word in done.stdout.decode().splitlines()[-1].split())


def fill(context, name, count, codec="none"):
    kcat.run(context, "-P", "-t", name, "-z", codec,
             input=b"".join(b"message %d\n" % i for i in range(count)))


def codecs(library, names=CODECS):
    def scenario(context):
        COMMANDS[library]()
        count = context.scaled(MESSAGES)
        for codec in names:
            name = client.topic(context.address, f"codec-{codec}")
            got = run(context, library, "codec", topic=name, codec=codec, count=count)
            expect(got["read"], str(count), f"messages of {codec} read")
        return f"{count} messages in each of {', '.join(names)}"
    return scenario


def recompressed(library):
    """Messages sent with one codec are stored with the topic's."""
    def scenario(context):
        COMMANDS[library]()
        count = context.scaled(MESSAGES)
        for codec in ("zstd", "uncompressed"):
            name = client.topic(context.address, f"to-{codec}", compression_type=codec)
            got = run(context, library, "codec", topic=name, codec="gzip", count=count)
            expect(got["read"], str(count), f"messages read from a topic of {codec}")
    return scenario


def old_fetch(library, version=None):
    """zstd for requests of versions without zstd."""
    def scenario(context):
        COMMANDS[library]()
        name = client.topic(context.address, "old-fetch")
        fill(context, name, 5000, "zstd")
        options = {"version": version} if version else {}
        got = run(context, library, "read", topic=name, count=5000, **options)
        expect(got["read"], "5000", "messages read")
    return scenario


def group(library):
    def scenario(context):
        COMMANDS[library]()
        name = client.topic(context.address, "group", partitions=4)
        fill(context, name, GROUP_MESSAGES)
        got = run(context, library, "group", topic=name, group=client.fresh("group"),
                  count=GROUP_MESSAGES)
        expect((got["read"], got["again"]), (str(GROUP_MESSAGES), "0"), "messages read, and again")
        expect(got.get("committed", str(GROUP_MESSAGES)), str(GROUP_MESSAGES), "committed offsets")
        check(got.get("deleted", "none") in ("none", "<nil>"), f"deleting: {got.get('deleted')}")
    return scenario


def configs(library, refused=str(INVALID_CONFIG)):
    def scenario(context):
        got = run(context, library, "configs", topic=client.fresh("configs"))
        expect(got.get("min.insync.replicas", refused), refused, "min.insync.replicas=2")
        check(int(got["known"]) >= 30, f"{got['known']} configs are described")
        return f"{got['known']} configs"
    return scenario


def by_id(library, unknown):
    def scenario(context):
        name = client.topic(context.address, "by-id", partitions=3)
        expect(run(context, library, "by_id", topic=name),
               {"name": name, "partitions": "3", "unknown": unknown}, "outcomes")
    return scenario


def recreate(library):
    def scenario(context):
        seconds = float(run(context, library, "recreate",
                            topic=client.topic(context.address, "recreated"))["seconds"])
        check(seconds < RECREATE_SECONDS_MAX, f"{seconds:.1f} s until the next message is stored")
        return f"{seconds:.2f} s"
    return scenario


def times(library, refused, fine):
    def scenario(context):
        name = client.topic(context.address, "times", message_timestamp_before_max_ms=3_600_000,
                            message_timestamp_after_max_ms=3_600_000)
        expect(run(context, library, "times", topic=name),
               {"now": fine, "early": refused, "late": refused}, "outcomes")
    return scenario


def admin(library, **wanted):
    def scenario(context):
        name = client.topic(context.address, "admin")
        expect(run(context, library, "admin", topic=name), wanted, "outcomes")
    return scenario


def sasl(library):
    def scenario(context):
        expect(run(context, library, "sasl"), {"refused": "true"}, "a client with SASL")
    return scenario


JAVA_ADMIN = {"acls": "SecurityDisabledException", "folders": "1", "moves": "0",
              "election": "true", "quotas": "0", "users": "0", "transactions": "0", "brokers": "1",
              "local": "0", "groups": "none"}
JAVAS = ("java 3.9", "java 4.1")
ALL = (*JAVAS, "franz-go", "sarama", "confluent-kafka", "aiokafka", "kafka-python")

SCENARIOS = [
    *[(f"{library} writes and reads every codec", codecs(library)) for library in ALL],
    ("java 3.9 writes to topics of another codec", recompressed("java 3.9")),
    ("confluent-kafka writes to topics of another codec", recompressed("confluent-kafka")),
    ("sarama reads zstd by old requests", old_fetch("sarama", "1.0.0")),
    ("kafka-python reads zstd by old requests", old_fetch("kafka-python", "1.0")),
    ("kafka-python 2.0.2 reads zstd", old_fetch("kafka-python 2.0.2")),
    *[(f"{library} in a group", group(library)) for library in ALL],
    *[(f"{library} configs", configs(library, "InvalidConfigurationException"))
      for library in JAVAS],
    ("franz-go configs", configs("franz-go", "INVALID_CONFIG")),
    *[(f"{library} configs", configs(library))
      for library in ("sarama", "confluent-kafka", "kafka-python")],
    *[(f"{library} describes topics by id", by_id(library, "UnknownTopicIdException"))
      for library in JAVAS],
    ("franz-go describes topics by id", by_id("franz-go", "UNKNOWN_TOPIC_ID")),
    *[(f"{library} idempotent, its topic made again", recreate(library))
      for library in (*JAVAS, "franz-go", "sarama", "confluent-kafka", "aiokafka")],
    *[(f"{library} times out of bounds", times(library, "InvalidTimestampException", "none"))
      for library in JAVAS],
    ("franz-go times out of bounds", times("franz-go", "INVALID_TIMESTAMP", "<nil>")),
    *[(f"{library} asks what tools ask", admin(library, **JAVA_ADMIN)) for library in JAVAS],
    ("franz-go asks what tools ask",
     admin("franz-go", acls="SECURITY_DISABLED", folders="1", moves="0",
           election="ELECTION_NOT_NEEDED", quotas="0", users="0", transactions="0")),
    ("sarama asks what tools ask", admin("sarama", folders="1", moves="0", quotas="0", users="0")),
    ("confluent-kafka asks what tools ask",
     admin("confluent-kafka", users="0", brokers="1", partitions="1")),
    ("java 3.9 with SASL ends with an error", sasl("java 3.9")),
]

"""Kafka's own tools, as its scripts start them. They come with the Java client (package_clients.py)."""

import client
from harness import Failed, check, expect
from package_clients import JAVA, fill

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
ELECTION = "org.apache.kafka.tools.LeaderElectionCommand"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"
CLUSTER = "org.apache.kafka.tools.ClusterTool"
ACLS = "kafka.admin.AclCommand"
CONSOLE = "org.apache.kafka.tools.consumer.ConsoleConsumer"
PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"


def tool(context, name, *words, fails=False):
    """The output of a tool."""
    done = context.run(["java", "-Xmx256m", "-cp", f"{JAVA.need()}/jars/*", name, *words],
                       seconds=120)
    output = (done.stdout + done.stderr).decode(errors="replace")
    if (done.returncode != 0) != fails:
        raise Failed(f"{name} ended with {done.returncode}: {output.strip()[-250:]}")
    return output


def at(context):
    return "--bootstrap-server", context.address


def topics(context):
    name = client.fresh("tool")
    tool(context, TOPICS, *at(context), "--create", "--topic", name, "--partitions", "2",
         "--config", "segment.ms=3600000", "--config", "compression.type=lz4")
    output = tool(context, TOPICS, *at(context), "--describe", "--topic", name)
    check("PartitionCount: 2" in output and "segment.ms=3600000" in output, output[-200:])
    tool(context, TOPICS, *at(context), "--alter", "--topic", name, "--partitions", "3")
    check(name in tool(context, TOPICS, *at(context), "--list"), "the list")
    tool(context, TOPICS, *at(context), "--delete", "--topic", name)


def configs(context):
    name = client.topic(context.address, "tool")
    entity = ("--entity-type", "topics", "--entity-name", name)
    tool(context, CONFIGS, *at(context), *entity, "--alter", "--add-config",
         "retention.ms=86400000,flush.ms=1000")
    output = tool(context, CONFIGS, *at(context), *entity, "--describe", "--all")
    for line in ("retention.ms=86400000", "flush.ms=1000", "log.flush.interval.ms"):
        check(line in output, f"no {line}: {output[-200:]}")
    tool(context, CONFIGS, *at(context), *entity, "--alter", "--delete-config", "flush.ms")
    tool(context, CONFIGS, *at(context), *entity, "--alter", "--add-config",
         "min.insync.replicas=2", fails=True)


def groups(context):
    name = client.topic(context.address, "tool", partitions=2)
    fill(context, name, 100)
    group = client.fresh("tool")
    got = tool(context, CONSOLE, *at(context), "--topic", name, "--group", group,
               "--from-beginning", "--max-messages", "100", "--timeout-ms", "30000")
    expect(got.count("message "), 100, "messages of the console consumer")
    check(group in tool(context, GROUPS, *at(context), "--list"), "the list")
    output = tool(context, GROUPS, *at(context), "--describe", "--group", group)
    check(name in output, output[-200:])
    tool(context, GROUPS, *at(context), "--group", group, "--topic", name, "--reset-offsets",
         "--to-earliest", "--execute")
    tool(context, GROUPS, *at(context), "--group", group, "--delete")


def records(context):
    name = client.topic(context.address, "tool")
    tool(context, PERFORMANCE, "--topic", name, "--num-records", "1000", "--record-size", "100",
         "--throughput", "-1", "--producer-props", f"bootstrap.servers={context.address}",
         "compression.type=zstd")
    check(f"{name}:0:1000" in tool(context, OFFSETS, *at(context), "--topic", name), "the end")
    plan = context.folder / f"{name}.json"
    plan.write_text('{"version": 1, "partitions": [{"topic": "%s", "partition": 0, "offset": 400}]}'
                    % name)
    tool(context, DELETE_RECORDS, *at(context), "--offset-json-file", plan)
    output = tool(context, OFFSETS, *at(context), "--topic", name, "--time", "-2")
    check(f"{name}:0:400" in output, output[-200:])


def cluster(context):
    name = client.topic(context.address, "tool")
    check(name in tool(context, LOG_DIRS, *at(context), "--describe"), "the folder has the topic")
    check("No partition reassignments" in tool(context, REASSIGN, *at(context), "--list"), "moves")
    tool(context, ELECTION, *at(context), "--election-type", "preferred", "--topic", name,
         "--partition", "0")
    tool(context, TRANSACTIONS, *at(context), "list")
    check("Cluster ID" in tool(context, CLUSTER, "cluster-id", *at(context)), "the cluster's id")
    output = tool(context, ACLS, *at(context), "--list", fails=True)
    check("SecurityDisabled" in output or "no authorizer" in output.lower(), output[-200:])


SCENARIOS = [
    ("kafka-topics", topics),
    ("kafka-configs", configs),
    ("kafka-consumer-groups and kafka-console-consumer", groups),
    ("kafka-get-offsets, kafka-delete-records, kafka-producer-perf-test", records),
    ("kafka-log-dirs, kafka-reassign-partitions, kafka-leader-election and others", cluster),
]

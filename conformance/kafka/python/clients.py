"""The cases of package_clients.py with confluent-kafka, aiokafka and kafka-python.

    clients.py LIBRARY CASE ADDRESS KEY=VALUE...

The last line of the output is the outcome, KEY=VALUE with spaces between them.
"""

import asyncio
import sys
import time

PATIENCE_SECONDS = 60
AGAIN_SECONDS = 5
CONFIGS = {"segment.ms": "3600000", "flush.messages": "1", "index.interval.bytes": "8192",
           "compression.type": "lz4"}


def message(number):
    return b"message %d" % number


def check_value(value):
    if not value.startswith(b"message "):
        raise ValueError(f"read {value!r}")


# --- confluent-kafka -------------------------------------------------------------------------------

def confluent_producer(task):
    from confluent_kafka import Producer
    return Producer({"bootstrap.servers": task.address, "enable.idempotence": True,
                     "compression.type": task.options.get("codec", "none"), "linger.ms": 5,
                     "message.timeout.ms": 60000})


def confluent_send(producer, topic, values):
    failures = []

    def delivered(error, _):
        if error:
            failures.append(error)
    for value in values:
        producer.produce(topic, value, on_delivery=delivered)
        producer.poll(0)
    left = producer.flush(PATIENCE_SECONDS)
    if failures or left:
        raise RuntimeError(f"{left} not sent, {failures[:1]}")


def confluent_read(task, group, wanted, seconds, commit=False):
    from confluent_kafka import Consumer
    consumer = Consumer({"bootstrap.servers": task.address, "group.id": group, "check.crcs": True,
                         "auto.offset.reset": "earliest", "enable.auto.commit": False})
    consumer.subscribe([task.topic])
    got = 0
    limit = time.monotonic() + seconds
    while got < wanted and time.monotonic() < limit:
        for one in consumer.consume(1000, 0.5):
            if one.error():
                raise RuntimeError(one.error())
            check_value(one.value())
            got += 1
    if commit:
        consumer.commit(asynchronous=False)
    consumer.close()
    return got


def confluent_admin(task):
    from confluent_kafka.admin import AdminClient
    return AdminClient({"bootstrap.servers": task.address})


def wait_all(futures):
    for future in futures.values():
        future.result(PATIENCE_SECONDS)


def confluent_codec(task):
    confluent_send(confluent_producer(task), task.topic, map(message, range(task.count)))
    return {"read": confluent_read(task, task.topic + "-codec", task.count, PATIENCE_SECONDS)}


def confluent_group(task):
    group = task.options["group"]
    read = confluent_read(task, group, task.count, PATIENCE_SECONDS, commit=True)
    again = confluent_read(task, group, 1, AGAIN_SECONDS)
    admin = confluent_admin(task)
    listed = admin.list_consumer_groups().result(PATIENCE_SECONDS)
    known = group in [one.group_id for one in listed.valid]
    wait_all(admin.delete_consumer_groups([group]))
    return {"read": read, "again": again, "known": known}


def confluent_configs(task):
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import (AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic)
    admin = confluent_admin(task)
    wait_all(admin.create_topics([NewTopic(task.topic, 2, 1, config=CONFIGS)]))
    resource = ConfigResource(ConfigResource.Type.TOPIC, task.topic)
    found = next(iter(admin.describe_configs([resource]).values())).result(PATIENCE_SECONDS)
    for name, value in CONFIGS.items():
        if found[name].value != value or found[name].is_default:
            raise ValueError(f"{name} is {found[name].value}")
    change = ConfigResource(
        ConfigResource.Type.TOPIC, task.topic, incremental_configs=[
            ConfigEntry("min.insync.replicas", "2",
                        incremental_operation=AlterConfigOpType.SET)])
    try:
        wait_all(admin.incremental_alter_configs([change]))
        refused = 0
    except KafkaException as error:
        refused = error.args[0].code()
    return {"known": len(found), "min.insync.replicas": refused}


def confluent_recreate(task):
    from confluent_kafka.admin import NewTopic
    producer = confluent_producer(task)
    confluent_send(producer, task.topic, map(message, range(5)))
    admin = confluent_admin(task)
    wait_all(admin.delete_topics([task.topic]))
    wait_all(admin.create_topics([NewTopic(task.topic, 1, 1)]))
    began = time.monotonic()
    confluent_send(producer, task.topic, [message(5)])
    return {"seconds": time.monotonic() - began}


def confluent_tools(task):
    from confluent_kafka import TopicCollection
    admin = confluent_admin(task)
    users = admin.describe_user_scram_credentials().result(PATIENCE_SECONDS)
    cluster = admin.describe_cluster().result(PATIENCE_SECONDS)
    topics = admin.describe_topics(TopicCollection([task.topic]))
    described = topics[task.topic].result(PATIENCE_SECONDS)
    return {"users": len(users), "brokers": len(cluster.nodes),
            "partitions": len(described.partitions)}


# --- aiokafka --------------------------------------------------------------------------------------

async def aio_read(task, group, wanted, seconds, commit=False):
    from aiokafka import AIOKafkaConsumer
    consumer = AIOKafkaConsumer(task.topic, bootstrap_servers=task.address, group_id=group,
                                auto_offset_reset="earliest", enable_auto_commit=False)
    await consumer.start()
    got = 0
    limit = time.monotonic() + seconds
    while got < wanted and time.monotonic() < limit:
        for found in (await consumer.getmany(timeout_ms=500)).values():
            for one in found:
                check_value(one.value)
            got += len(found)
    if commit:
        await consumer.commit()
    await consumer.stop()
    return got


def aio_codec(task):
    from aiokafka import AIOKafkaProducer

    async def run():
        codec = task.options["codec"]
        producer = AIOKafkaProducer(bootstrap_servers=task.address, enable_idempotence=True,
                                    compression_type=None if codec == "none" else codec)
        await producer.start()
        sent = [await producer.send(task.topic, message(i)) for i in range(task.count)]
        await asyncio.gather(*sent)
        await producer.stop()
        return {"read": await aio_read(task, None, task.count, PATIENCE_SECONDS)}
    return asyncio.run(run())


def aio_group(task):
    async def run():
        group = task.options["group"]
        read = await aio_read(task, group, task.count, PATIENCE_SECONDS, commit=True)
        return {"read": read, "again": await aio_read(task, group, 1, AGAIN_SECONDS)}
    return asyncio.run(run())


def aio_recreate(task):
    from aiokafka import AIOKafkaProducer
    from aiokafka.admin import AIOKafkaAdminClient, NewTopic

    async def run():
        producer = AIOKafkaProducer(bootstrap_servers=task.address, enable_idempotence=True)
        await producer.start()
        for number in range(5):
            await producer.send_and_wait(task.topic, message(number))
        admin = AIOKafkaAdminClient(bootstrap_servers=task.address)
        await admin.start()
        await admin.delete_topics([task.topic])
        await admin.create_topics([NewTopic(task.topic, 1, 1)])
        began = time.monotonic()
        await producer.send_and_wait(task.topic, message(5))
        seconds = time.monotonic() - began
        await admin.close()
        await producer.stop()
        return {"seconds": seconds}
    return asyncio.run(run())


# --- kafka-python ----------------------------------------------------------------------------------

def kpy_options(task):
    options = {"bootstrap_servers": task.address}
    if "version" in task.options:  # The version of the requests.
        options["api_version"] = tuple(map(int, task.options["version"].split(".")))
    return options


def kpy_read(task, group=None, wanted=None, seconds=PATIENCE_SECONDS, commit=False):
    from kafka import KafkaConsumer
    consumer = KafkaConsumer(task.topic, group_id=group, auto_offset_reset="earliest",
                             enable_auto_commit=False, **kpy_options(task))
    wanted = task.count if wanted is None else wanted
    got = 0
    limit = time.monotonic() + seconds
    while got < wanted and time.monotonic() < limit:
        for found in consumer.poll(500).values():
            for one in found:
                check_value(one.value)
            got += len(found)
    if commit:
        consumer.commit()
    consumer.close()
    return got


def kpy_codec(task):
    from kafka import KafkaProducer
    codec = task.options["codec"]
    producer = KafkaProducer(compression_type=None if codec == "none" else codec, linger_ms=5,
                             **kpy_options(task))
    sent = [producer.send(task.topic, message(i)) for i in range(task.count)]
    for one in sent:
        one.get(PATIENCE_SECONDS)
    producer.close()
    return {"read": kpy_read(task)}


def kpy_group(task):
    group = task.options["group"]
    read = kpy_read(task, group, commit=True)
    return {"read": read, "again": kpy_read(task, group, 1, AGAIN_SECONDS)}


def kpy_configs(task):
    from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewTopic
    admin = KafkaAdminClient(**kpy_options(task))
    admin.create_topics([NewTopic(task.topic, 2, 1, topic_configs=CONFIGS)])
    resource = ConfigResource(ConfigResourceType.TOPIC, task.topic)
    answers = admin.describe_configs([resource])
    found = {entry[0]: entry[1] for entry in answers[0].resources[0][4]}
    for name, value in CONFIGS.items():
        if found[name] != value:
            raise ValueError(f"{name} is {found[name]}")
    return {"known": len(found)}


CASES = {
    "confluent-kafka": {"codec": confluent_codec, "group": confluent_group,
                        "configs": confluent_configs, "recreate": confluent_recreate,
                        "admin": confluent_tools},
    "aiokafka": {"codec": aio_codec, "group": aio_group, "recreate": aio_recreate},
    "kafka-python": {"codec": kpy_codec, "group": kpy_group, "configs": kpy_configs,
                     "read": lambda task: {"read": kpy_read(task)}},
}


class Task:
    def __init__(self, address, words):
        self.address = address
        self.options = dict(word.split("=", 1) for word in words)
        self.topic = self.options.get("topic")
        self.count = int(self.options.get("count", 0))


def main():
    library, case, address, *words = sys.argv[1:]
    outcome = CASES[library][case](Task(address, words))
    print(" ".join(f"{key}={value}" for key, value in sorted(outcome.items())))


if __name__ == "__main__":
    main()

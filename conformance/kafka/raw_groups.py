"""Consumer groups and restarts as hand-made frames. Numbers as in README.md."""

import client
from harness import check, expect, wait_until
from records import batch
from wire import Broker

SESSION_MS = 10000


class Member:
    """One member on a connection of its own."""

    def __init__(self, address, group, protocol="range", session=SESSION_MS):
        self.broker = Broker(address)
        self.group, self.protocol, self.session = group, protocol, session
        self.id, self.generation = "", -1
        client.retried(lambda: self.broker.call("FindCoordinator", 2, key=group))

    def join_request(self):
        return {"group_id": self.group, "session_timeout_ms": self.session,
                "rebalance_timeout_ms": 20000, "member_id": self.id, "protocol_type": "consumer",
                "protocols": [{"name": self.protocol, "metadata": b"meta"}]}

    def ask_to_join(self):
        """Gets a member id first, as clients of version 4 and later must."""
        if not self.id:
            answer = client.retried(
                lambda: self.broker.call("JoinGroup", 5, **self.join_request()))
            expect(answer["error_code"], 79, "JoinGroup without a member id")
            self.id = answer["member_id"]
        self.broker.send("JoinGroup", 5, **self.join_request())

    def joined(self):
        answer = self.broker.receive()
        if answer["error_code"] == 0:
            self.generation = answer["generation_id"]
        return answer

    def join(self):
        self.ask_to_join()
        return self.joined()

    def sync(self, assignments=()):
        return self.broker.call("SyncGroup", 3, **self.me(), assignments=[
            {"member_id": member, "assignment": data} for member, data in assignments])

    def me(self, **changed):
        return {"group_id": self.group, "generation_id": self.generation, "member_id": self.id,
                **changed}

    def heartbeat(self, **changed):
        return self.broker.call("Heartbeat", 3, **self.me(**changed))["error_code"]

    def commit(self, topic, offset, **changed):
        answer = self.broker.call("OffsetCommit", 7, **self.me(**changed), topics=[
            {"name": topic, "partitions": [{"committed_offset": offset,
                                            "committed_leader_epoch": -1,
                                            "committed_metadata": "m"}]}])
        return answer["topics"][0]["partitions"][0]["error_code"]

    def committed(self, topic):
        answer = self.broker.call("OffsetFetch", 5, group_id=self.group, topics=[
            {"name": topic, "partition_indexes": [0]}])
        return answer["topics"][0]["partitions"][0]["committed_offset"]


def started(address):
    """A stable group of one member."""
    member = Member(address, client.fresh("group"))
    expect(member.join()["error_code"], 0, "JoinGroup")
    expect(member.sync([(member.id, b"all")])["assignment"], b"all", "the assignment")
    return member


def c16_a_member_id_is_required(context):
    member = Member(context.address, client.fresh("join"))
    answer = member.join()
    expect((answer["error_code"], answer["generation_id"], answer["leader"]), (0, 1, member.id),
           "error, generation, leader")
    expect([(entry["member_id"], entry["metadata"]) for entry in answer["members"]],
           [(member.id, b"meta")], "members")
    expect(answer["protocol_name"], "range", "protocol")
    old = Member(context.address, client.fresh("join"))
    answer = old.broker.call("JoinGroup", 3, **old.join_request())
    expect(answer["error_code"], 0, "JoinGroup v3 without a member id")
    check(answer["member_id"], "no member id")


def c18_heartbeats(context):
    member = started(context.address)
    expect(member.heartbeat(), 0, "Heartbeat")
    expect(member.heartbeat(member_id="nobody"), 25, "of an unknown member")
    expect(member.heartbeat(generation_id=member.generation - 1), 22, "of an old generation")
    second = Member(context.address, member.group)
    second.ask_to_join()
    wait_until(lambda: member.heartbeat() == 27, "27 during a rebalance", 5)
    expect(member.join()["error_code"], 0, "joining again")
    expect(second.joined()["error_code"], 0, "the second member joining")
    expect(second.generation, member.generation, "generation")


def c19_another_protocol_is_refused(context):
    member = started(context.address)
    other = Member(context.address, member.group, protocol="x")
    other.broker.send("JoinGroup", 3, **other.join_request())
    expect(other.joined()["error_code"], 23, "joining with another protocol")
    expect(member.heartbeat(), 0, "the group's heartbeat")


def c20_an_old_generation_does_not_commit(context):
    name = client.topic(context.address, "commit")
    member = started(context.address)
    client.produce(member.broker, name, [b"v"] * 10)
    expect(member.commit(name, 7), 0, "OffsetCommit")
    expect(member.commit(name, 9, generation_id=member.generation - 1), 22, "an old generation")
    expect(member.commit(name, 9, member_id="nobody"), 25, "an unknown member")
    expect(member.commit(name, 9, generation_id=-1, member_id=""), 25, "an outsider")
    expect(member.committed(name), 7, "the stored offset")


def a_commit_is_kept_as_it_came(context):
    name = client.topic(context.address, "verbatim")
    member = started(context.address)
    for offset in (100, 0):  # Beyond the end, and back.
        expect(member.commit(name, offset), 0, "OffsetCommit")
        expect(member.committed(name), offset, "the stored offset")


def a_silent_member_is_dropped(context):
    first = Member(context.address, client.fresh("silent"), session=6000)
    expect(first.join()["error_code"], 0, "JoinGroup")
    first.sync([(first.id, b"a")])
    second = Member(context.address, first.group, session=30000)
    second.ask_to_join()  # Waits for the first, which does not return.
    answer = second.joined()
    expect((answer["error_code"], len(answer["members"])), (0, 1), "error and members")
    expect(first.heartbeat(), 25, "heartbeat of the dropped member")


def leaving_and_deleting(context):
    member = started(context.address)
    deleted = member.broker.call("DeleteGroups", 1, groups_names=[member.group])
    expect(deleted["results"][0]["error_code"], 68, "deleting a group with members")
    described = member.broker.call("DescribeGroups", 2, groups=[member.group])["groups"][0]
    expect((described["group_state"], len(described["members"])), ("Stable", 1), "the group")
    expect(member.broker.call("LeaveGroup", 1, group_id=member.group,
                              member_id=member.id)["error_code"], 0, "LeaveGroup")
    expect(member.heartbeat(), 25, "heartbeat after leaving")
    listed = member.broker.call("ListGroups", 2)["groups"]
    check(member.group in [group["group_id"] for group in listed], "the empty group is not listed")
    deleted = member.broker.call("DeleteGroups", 1, groups_names=[member.group])
    expect(deleted["results"][0]["error_code"], 0, "deleting the empty group")


def c30_what_a_kill_must_keep(context):
    name = client.topic(context.address, "kept", retention_ms=3600000)
    member = Member(context.address, client.fresh("kept"))
    offset = {"generation_id": -1, "member_id": ""}
    with Broker(context.address) as broker:
        identity = client.topic_id(broker, name)
        producer, epoch = client.producer_id(broker)
        data = batch([b"once"] * 3, producer, epoch, 0)
        for _ in range(10):
            client.produce(broker, name, [b"v"])
        expect(client.produce(broker, name, data)["base_offset"], 10, "base offset")
        wait_until(lambda: member.commit(name, 5, **offset) == 0, "a committed offset")
        broker.call("DeleteRecords", 1, timeout_ms=10000, topics=[
            {"name": name, "partitions": [{"offset": 2}]}])
    context.server.restart()
    member = Member(context.address, member.group)
    with Broker(context.address) as broker:
        wait_until(lambda: client.offset_of(broker, name, 0, -1)["error_code"] == 0,
                   "the partition is served again")
        expect(client.topic_id(broker, name), identity, "topic id")
        if context.server.is_moraine():  # Apache Kafka persists the log start once a minute.
            expect(client.offset_of(broker, name, 0, -2)["offset"], 2, "log start")
        expect(client.end_offset(broker, name), 13, "log end")
        wait_until(lambda: member.committed(name) == 5, "the committed offset")
        again = client.produce(broker, name, data)
        expect((again["error_code"], again["base_offset"]), (0, 10), "the repeated batch")
        got = client.values_in(client.fetch(broker, name, 2)["records"])
        expect(got[-11:], [b"v"] * 8 + [b"once"] * 3, "values")
        fresh_id, _ = client.producer_id(broker)
        check(fresh_id != producer, "a producer id was issued twice")


SCENARIOS = [
    ("C16 a member id is required", c16_a_member_id_is_required),
    ("C18 heartbeats", c18_heartbeats),
    ("C19 another protocol is refused", c19_another_protocol_is_refused),
    ("C20 an old generation does not commit", c20_an_old_generation_does_not_commit),
    ("raw a commit is kept as it came", a_commit_is_kept_as_it_came),
    ("raw a silent member is dropped", a_silent_member_is_dropped),
    ("raw leaving and deleting a group", leaving_and_deleting),
    ("C30 what a kill -9 must keep", c30_what_a_kill_must_keep),
]

"""Members of a group that join, leave and die while messages arrive."""

import signal

import client
from harness import wait_until, wait_while_moving

PARTITIONS = 6
ROUNDS = 5


class Member:
    """A client process in a group; the messages and its log go to files.

    Subclasses report how many partitions it has now.
    """

    def __init__(self, context, command, group_id, number):
        self.path = context.folder / f"{group_id}-{number}"
        with open(f"{self.path}.out", "wb") as out, open(f"{self.path}.err", "wb") as err:
            self.process = context.spawn(command, stdout=out, stderr=err)

    def output(self, kind):
        with open(f"{self.path}.{kind}", "rb") as file:
            return file.read().decode(errors="replace")

    def lines(self):
        """`partition offset value`, each."""
        return [line for line in self.output("out").splitlines() if line.count(" ") == 2]

    def values(self):
        return {line.rpartition(" ")[2] for line in self.lines()}

    def partitions(self):
        raise NotImplementedError


def churn(context, start, produce, count, unprinted_max=0):
    """`start(topic, group, number)` returns a Member, `produce(topic, bytes)` writes lines.

    Every message must be read, except `unprinted_max` that a member consumed when it ended.
    """
    name = client.topic(context.address, "churn", partitions=PARTITIONS)
    group_id = client.fresh("churn")
    sent = 0

    def write():
        nonlocal sent
        produce(name, b"".join(b"m%d\n" % i for i in range(sent, sent + count // ROUNDS)))
        sent += count // ROUNDS

    def settled(live):
        wait_until(lambda: sum(m.partitions() for m in live) == PARTITIONS and
                   all(m.partitions() for m in live), f"{len(live)} members share all", 60)

    write()
    members = [start(name, group_id, 0)]
    settled(members)
    members += [start(name, group_id, i) for i in (1, 2)]
    write()
    settled(members)
    members[0].process.send_signal(signal.SIGINT)  # Leaves.
    write()
    settled(members[1:])
    members[1].process.kill()  # Dies: kill -9.
    write()
    settled(members[2:])
    members.append(start(name, group_id, 3))
    write()
    settled(members[2:])
    wanted = {f"m{i}" for i in range(sent)}

    def seen():
        return len(set().union(*(m.values() for m in members)) & wanted)

    def printed():
        return sum(len(m.lines()) for m in members)

    # Some clients commit after each message, and read again after a rebalance.
    wait_while_moving(lambda: seen() >= sent - unprinted_max, printed, "every message is read")
    total = printed()
    missing = sent - seen()
    note = f", {missing} lost by a client that ended" if missing else ""
    return f"{sent} messages, {total - seen()} read twice{note}"

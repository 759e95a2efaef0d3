"""Repeated requests over restarts of the server; restarts.py runs the parts of them in order."""

import itertools
import time
import uuid

from cases import KEY_VALUE, RETRIED, column, messages
from harness import Failed, check, expect

WORK_SECONDS = 10
KEPT = {}  # What remember() leaves for repeat().


def steps(case):
    """Commands that change something, with their parameters and data; each is sent once."""
    at = case.path
    transaction = case.client.start_transaction(timeout=600_000)
    table = {"path": at("table")}
    wider = [*KEY_VALUE, column("more", "int64")]
    batch = [{"command": "create", "parameters": {"type": "map_node", "path": at("batch")}},
             {"command": "set", "parameters": {"path": at("batch/n")}, "input": 5}]
    return [
        ("create", {"type": "map_node", "path": at("map")}, None),
        ("create", {"type": "document", "path": at("map/d")}, None),
        ("set", {"path": at("map/d")}, b'{"a":1}'),
        ("multiset_attributes", {"path": at("map") + "/@"}, b'{"x":1,"y":2}'),
        ("copy", {"source_path": at("map"), "destination_path": at("copy")}, None),
        ("move", {"source_path": at("copy"), "destination_path": at("moved")}, None),
        ("link", {"target_path": at("moved"), "link_path": at("link")}, None),
        ("start_transaction", {"timeout": 600_000}, None),
        ("lock", {"path": at("map"), "mode": "shared", "transaction_id": transaction}, None),
        ("create", {"type": "map_node", "path": at("inside"), "transaction_id": transaction}, None),
        ("commit_transaction", {"transaction_id": transaction}, None),
        ("remove", {"path": at("link") + "&"}, None),
        ("create", {"type": "table", "attributes": {"dynamic": True, "schema": KEY_VALUE},
                    **table}, None),
        ("reshard_table", {"pivot_keys": [[], [5]], **table}, None),
        ("alter_table", {"schema": wider, **table}, None),
        ("mount_table", table, None),
        ("freeze_table", table, None),
        ("unfreeze_table", table, None),
        ("remount_table", table, None),
        ("unmount_table", table, None),
        ("execute_batch", {"requests": batch}, None),
    ]


def send(case, command, parameters, body):
    return case.call(command, parameters, body=body, method="POST" if body is None else "PUT")


def remember(case):
    sent = []
    for command, parameters, body in steps(case):
        parameters = {**parameters, "mutation_id": uuid.uuid4().hex[:8] + "-1-2-3"}
        sent.append((command, parameters, body, send(case, command, parameters, body)))
    KEPT["sent"] = sent
    KEPT["folder"] = case.folder
    KEPT["tree"] = case.client.get(case.folder, attributes=["id", "type", "x"])
    KEPT["revision"] = case.client.get(case.folder + "/@revision")


def repeat(case):
    for command, parameters, body, answer in KEPT["sent"]:
        try:
            again = send(case, command, {**parameters, "retry": True}, body)
        except case.yt.YtError as error:
            raise Failed(f"{command} {parameters}: {messages(error.simplify())}") from error
        expect(again, answer, f"the answer of {command} that is repeated")
        if command == "execute_batch":  # Not a change itself: its requests are.
            results = send(case, command, parameters, body)["results"]
            check(all(RETRIED in result["error"]["message"] for result in results), repr(results))
        else:
            case.fails(RETRIED, send, case, command, parameters, body)
    folder = KEPT["folder"]
    expect(case.client.get(folder, attributes=["id", "type", "x"]), KEPT["tree"], "the tree")
    expect(case.client.get(folder + "/@revision"), KEPT["revision"], "the revision")
    return f"{len(KEPT['sent'])} commands"


def work(case):
    """Changes that fail when they are done twice, by a client that repeats what was not answered."""
    client = case.new_client(proxy={"retries": {
        "enable": True, "count": 1000,
        "backoff": {"policy": "constant_time", "constant_time": 50}}})
    end = time.monotonic() + WORK_SECONDS
    for i in itertools.count():
        node = case.path(f"n{i}")
        client.create("map_node", node)
        client.set(node + "/value", i)
        transaction = client.start_transaction(timeout=600_000)
        client.move(node, node + "_moved")
        client.commit_transaction(transaction)
        client.copy(node + "_moved", node)
        client.remove(node + "_moved", recursive=True)
        if time.monotonic() > end:
            break
    expect(client.get(case.folder), {f"n{j}": {"value": j} for j in range(i + 1)})
    check(i > 10, f"only {i} rounds")
    return f"{i} rounds"

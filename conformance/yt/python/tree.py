"""Cases C-12 to C-22: the tree of nodes and its transactions."""

import time
import uuid

from cases import RETRIED
from harness import check, expect


def c12(case):
    """exists, also of items of attributes"""
    client, path = case.client, case.path("a")
    expect(client.exists("//tmp"), True)
    expect(client.exists(path + "/f/e"), False)
    client.create("map_node", path)
    client.set(path + "/@list", [10])
    expect([client.exists(f"{path}/@list/{i}") for i in (0, 1)], [True, False])
    expect([client.exists("//sys/" + name) for name in ("operations", "xxx")], [True, False])


def c13(case):
    """create needs parents, or recursive"""
    client, path = case.client, case.path("a/b")
    case.fails("has no child with key", client.create, "map_node", path)
    client.create("map_node", path, recursive=True)
    client.create("map_node", path, ignore_existing=True)
    case.fails('already exists and has type "map_node" while node of "table" type is about to be '
               "created", client.create, "table", path, ignore_existing=True)


def c14(case):
    """create with force replaces the node"""
    client, path = case.client, case.path()
    ids = []
    for kind in ("table", "table", "file"):
        ids.append(client.create(kind, path, force=True))
        expect(client.get(path + "/@id"), ids[-1])
    expect(len(set(ids)), 3)


def c15(case):
    """remove of what is not there, and of full folders"""
    client = case.client
    case.fails(500, client.remove, case.path("none"))
    client.remove(case.path("none"), force=True)
    client.create("map_node", case.path("x/1/y"), recursive=True)
    for force in (False, True):
        case.fails(506, client.remove, case.path("x"), recursive=False, force=force)


def c16(case):
    """attributes of a node, all or some"""
    path = case.make(mount=False)
    case.client.set(path + "/@attr", 1)
    everything = case.client.get(path + "/@")
    expect((everything["attr"], everything["key"]), (1, "t"))
    check("path" in everything and everything["path"] is None or
          everything["path"] == case.yt.yson.YsonEntity(), f"path: {everything['path']!r}")
    expect(dict(case.client.get(path + "/@", attributes=["attr", "path"])),
           {"attr": 1, "path": path})


def c17(case):
    """attributes of a subtree and of a list"""
    client, path = case.client, case.path("a")
    client.create("map_node", path + "/b", recursive=True)
    for wanted in (["type"], {"keys": ["type"]}):
        node = case.call("get", {"path": path, "attributes": wanted})["value"]
        kind = {"$attributes": {"type": "map_node"}, "$value": {}}
        expect(node, {"$attributes": {"type": "map_node"}, "$value": {"b": kind}}, "get")
        names = case.call("list", {"path": path, "attributes": wanted})["value"]
        expect(names, [{"$attributes": {"type": "map_node"}, "$value": "b"}], "list")


def c18(case):
    """links, followed and not"""
    client, t1, t2 = case.client, case.path("t1"), case.path("t2")
    client.set(t1, 1)
    client.link(t1, t2)
    expect(client.get(t2), 1)
    expect((client.get(t2 + "/@type"), client.get(t2 + "&/@type")), ("int64_node", "link"))
    expect(client.get(t2 + "/@id"), client.get(t1 + "/@id"))
    client.remove(t1)
    expect(client.get(t2 + "&/@broken"), True)
    expect((client.exists(t2), client.exists(t2 + "&")), (False, True))


def c19(case):
    """a snapshot lock freezes what the transaction sees"""
    path = case.path("node")
    case.client.set(path, 42)
    tx = case.begin("master")
    tx.lock(path, mode="snapshot")
    case.client.set(path, 100)
    expect(tx.get(path), 42)
    case.fails(f'Cannot take "exclusive" lock for node {path} since "snapshot" lock is already '
               "taken by same transaction", tx.set, path, 200)
    case.abort(tx)


def c20(case):
    """changes are seen in their transaction until commit; a lease ends"""
    client, path = case.client, case.path("v")
    tx = case.begin("master")
    tx.set(path, 1)
    expect((tx.get(path), client.exists(path)), (1, False))
    case.commit(tx)
    expect(client.get(path), 1)
    case.fails("No such transaction", case.commit, tx)
    other = case.begin("master")
    other.set(path, 2)
    case.abort(other)
    expect(client.get(path), 1)
    short = client.start_transaction(timeout=2000)
    time.sleep(1)
    expect(client.exists("#" + short), True, "after 1 s")
    time.sleep(3)
    expect(client.exists("#" + short), False, "after 4 s")


def c21(case):
    """commit of the outer transaction aborts its children"""
    client = case.client
    paths = [case.path(name) for name in ("t", "t1", "t2")]
    for path in paths:
        client.set(path, 0)
    outer = case.begin("master")
    inner = [case.begin("master", parent=outer.tx) for _ in range(2)]
    outer.set(paths[0], 1)
    for tx, path in zip(inner, paths[1:]):
        tx.set(path, 1)
    case.commit(outer)
    expect([client.get(path) for path in paths], [1, 0, 0])
    expect([client.exists("#" + tx.tx) for tx in (outer, *inner)], [False] * 3)


def c22(case):
    """a mutation id makes commit idempotent"""
    mutation = uuid.uuid4().hex[:8] + "-1-2-3"
    tx = case.client.start_transaction()
    parameters = {"transaction_id": tx, "mutation_id": mutation}
    first = case.call("commit_transaction", parameters, method="POST")
    case.fails(RETRIED, case.call, "commit_transaction", parameters, method="POST")
    again = case.call("commit_transaction", {**parameters, "retry": True}, method="POST")
    expect(again, first)

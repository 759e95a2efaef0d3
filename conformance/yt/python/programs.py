"""Programs that use many commands together, as people write them."""

import threading
import time

from cases import KEY_VALUE, column, lists
from harness import check, expect, wait_until


def program_schema_life_cycle(case):
    """a schema is created, used, widened, used again"""
    client, path = case.client, case.make()
    case.insert(path, {"key": 1, "value": "a"})
    case.unmount(path)
    client.alter_table(path, schema=[*KEY_VALUE, column("more", "int64")])
    case.mount(path)
    case.insert(path, {"key": 2, "value": "b", "more": 5})
    expect(case.lookup(path, {"key": 1}, {"key": 2}),
           [{"key": 1, "value": "a", "more": None}, {"key": 2, "value": "b", "more": 5}])
    schema = client.get(path + "/@schema")
    expect([item["name"] for item in schema], ["key", "value", "more"])
    expect((schema.attributes["strict"], schema.attributes["unique_keys"]), (True, True))
    client.remove(path)
    expect(client.exists(path), False)


def program_ttl_and_compaction(case):
    """old versions end with a forced compaction, seen by versioned lookups"""
    path = case.make(min_data_ttl=0, max_data_ttl=0, min_data_versions=0, max_data_versions=1)
    for value in ("a", "b", "c"):
        case.insert(path, {"key": 1, "value": value})
    versions = case.lookup(path, {"key": 1}, versioned=True)[0]["value"]
    expect([str(value) for value in versions], ["c", "b", "a"])

    def compacted():
        rows = case.lookup(path, {"key": 1}, versioned=True)
        return len(rows) == 0 or len(rows[0].get("value", [])) <= 1

    case.compact(path, compacted)


def program_expired_rows(case):
    """rows past max_data_ttl disappear with a compaction"""
    path = case.make(min_data_ttl=0, max_data_ttl=1, min_data_versions=0, max_data_versions=1)
    case.insert(path, *({"key": i, "value": "x"} for i in range(10)))
    time.sleep(1.5)  # Age has a resolution of a second.
    case.compact(path, lambda: case.select(f"key from [{path}]") == [])


def program_tablet_transaction(case):
    """a transaction over two tables is all or nothing"""
    one, two = case.make("one"), case.make("two")
    with case.client.Transaction(type="tablet") as tx:
        check(tx.transaction_id, "no id")
        case.client.insert_rows(one, [{"key": 1, "value": "a"}])
        case.client.insert_rows(two, [{"key": 2, "value": "b"}])
    expect((case.lookup(one, {"key": 1}), case.lookup(two, {"key": 2})),
           ([{"key": 1, "value": "a"}], [{"key": 2, "value": "b"}]))
    try:
        with case.client.Transaction(type="tablet"):
            case.client.insert_rows(one, [{"key": 9, "value": "z"}])
            raise KeyError("the program changes its mind")
    except KeyError:
        pass
    expect(case.lookup(one, {"key": 9}), [])


def program_tree_transaction(case):
    """nodes made in a transaction vanish when it is aborted"""
    client, temporary, kept = case.client, case.path("temporary"), case.path("kept")
    try:
        with client.Transaction():
            client.create("table", temporary)
            check(client.exists(temporary), "not seen inside")
            raise KeyError("stop")
    except KeyError:
        pass
    expect(client.exists(temporary), False)
    with client.Transaction():
        client.create("map_node", kept)
    expect(client.exists(kept), True)


def program_static_table(case):
    """a static table is written, appended, read by ranges, made dynamic"""
    client, path = case.client, case.path()
    schema = [column("key", "int64", True), column("value", "string")]
    client.create("table", path, attributes={"schema": schema})
    client.write_table(path, [{"key": i, "value": str(i)} for i in range(5)])
    client.write_table(case.yt.TablePath(path, append=True, client=client),
                       [{"key": i, "value": str(i)} for i in range(5, 10)])
    expect(client.row_count(path), 10)
    expect([row["key"] for row in client.read_table(path)], list(range(10)))
    expect([row["key"] for row in client.read_table(path + "[#2:#4]")], [2, 3])
    expect([row["key"] for row in client.read_table(path + "[(3):(6)]")], [3, 4, 5])
    unique = case.yt.yson.YsonList(schema)
    unique.attributes.update({"strict": True, "unique_keys": True})
    other = case.path("unique")
    client.create("table", other, attributes={"schema": unique})
    client.write_table(other, [{"key": i, "value": str(i)} for i in range(10)])
    client.alter_table(other, dynamic=True)
    case.mount(other)
    expect(case.lookup(other, {"key": 7}), [{"key": 7, "value": "7"}])
    case.insert(other, {"key": 7, "value": "new"})
    expect(case.select(f"value from [{other}] where key = 7"), [{"value": "new"}])


def program_reshard(case):
    """a table is resharded and keeps its rows"""
    client, path = case.client, case.make()
    rows = [{"key": i, "value": str(i)} for i in range(200)]
    case.insert(path, *rows)
    case.unmount(path)
    client.reshard_table(path, [[], [50], [100]], sync=True)
    expect(client.get(path + "/@tablet_count"), 3)
    case.mount(path)
    expect(sorted(row["key"] for row in case.select(f"key from [{path}]")), list(range(200)))
    case.unmount(path)
    client.reshard_table(path, [[]], sync=True)
    case.mount(path)
    expect(case.lookup(path, {"key": 77}), [rows[77]])


def program_retried_insert(case):
    """many clients increment one row with transactions"""
    path = case.make(schema=[column("key", "int64", True), column("count", "int64")])
    case.insert(path, {"key": 1, "count": 0})
    conflicts = []

    def increment():
        done = 0
        while done < 5:
            tx = case.begin()
            count = case.lookup(path, {"key": 1}, client=tx)[0]["count"]
            case.insert(path, {"key": 1, "count": count + 1}, client=tx)
            try:
                case.commit(tx)
                done += 1
            except case.yt.YtError as error:
                check(error.contains_code(1700), str(error.simplify()))
                conflicts.append(1)

    threads = [threading.Thread(target=increment) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(case.lookup(path, {"key": 1}), [{"key": 1, "count": 20}])
    return f"{len(conflicts)} conflicts"


def program_selects(case):
    """placeholders, explain, limits of rows"""
    path = case.make(schema=[column("a", "int64", True), column("b", "string")])
    case.insert(path, *({"a": i, "b": "xyz"[i % 3]} for i in range(30)))
    rows = case.select(f"a from [{path}] where b = {{b}} and a in {{list}}",
                       placeholder_values={"b": "x", "list": [0, 1, 3]})
    expect(sorted(row["a"] for row in rows), [0, 3])
    rows = case.select(f"b, sum(1) as n from [{path}] group by b order by b limit 2")
    expect(lists(rows, "b", "n"), [("x", 10), ("y", 10)])
    case.fails(1710, case.select, f"* from [{path}]", output_row_limit=5)
    case.fails(1709, case.select, f"* from [{path}]", input_row_limit=5)
    case.client.link(path, case.path("link"))
    expect(case.select(f"b from [{case.path('link')}] where a = 4"), [{"b": "y"}])
    plan = case.call("explain_query", {"query": f"* from [{path}] where a between 3 and 5"})
    check("ranges" in str(plan), str(plan))


def program_lists_of_nodes(case):
    """folders are listed with attributes, copied and moved"""
    client = case.client
    for name in ("x", "y"):
        client.set(case.path(name), name)
    names = client.list(case.folder, attributes=["type"])
    expect([(str(name), name.attributes["type"]) for name in names],
           [("x", "string_node"), ("y", "string_node")])
    client.copy(case.path("x"), case.path("z"))
    client.move(case.path("y"), case.path("w"))
    expect(sorted(client.list(case.folder)), ["w", "x", "z"])
    expect(client.get(case.folder), {"w": "y", "x": "x", "z": "x"})
    results = case.call("execute_batch", {"requests": [
        {"command": "get", "parameters": {"path": case.path("x")}},
        {"command": "get", "parameters": {"path": case.path("none")}}]}, method="POST")["results"]
    expect((results[0]["output"], "error" in results[1]), ({"value": "x"}, True))


def program_expiration(case):
    """a node ends at its expiration_timeout, unless somebody looks at it"""
    path, used = case.path("short"), case.path("used")
    for node in (path, used):
        case.client.create("map_node", node, attributes={"expiration_timeout": 1000})
    watcher = case.new_client()
    case.yt.config.set_command_param("suppress_expiration_timeout_renewal", True, watcher)

    def gone():
        check(case.client.exists(used), "a node ended while it was used")
        return not watcher.exists(path)

    wait_until(gone, "the node is gone")
    wait_until(lambda: not watcher.exists(used), "the other node is gone")


def program_ordered_table(case):
    """rows of an ordered table are read by their numbers and trimmed"""
    path = case.make(schema=[column("text", "string")])
    case.insert(path, *({"text": str(i)} for i in range(10)))
    rows = case.select(f"[$row_index], text from [{path}] where [$tablet_index] = 0 and "
                       "[$row_index] between 3 and 5")
    expect([(row["$row_index"], row["text"]) for row in rows], [(3, "3"), (4, "4"), (5, "5")])
    expect(case.client.get(path + "/@sorted"), False)
    case.client.trim_rows(path, 0, 4)
    infos = case.client.get_tablet_infos(path, [0])["tablets"]
    expect((infos[0]["total_row_count"], infos[0]["trimmed_row_count"]), (10, 4))
    case.flush(path)
    expect([row["text"] for row in case.client.read_table(path)], [str(i) for i in range(4, 10)])
    expect([row["text"] for row in case.client.read_table(path + "[#5:#7]")], ["5", "6"])
    case.fails(1716, case.delete, path, {"$row_index": 5})


def program_ordered_tablets(case):
    """rows go to the tablets that they name"""
    path = case.make(schema=[column("text", "string")], mount=False)
    case.client.reshard_table(path, tablet_count=3, sync=True)
    case.mount(path)
    case.insert(path, *({"$tablet_index": i % 3, "text": str(i)} for i in range(9)))

    def counts():
        infos = case.client.get_tablet_infos(path, [0, 1, 2])["tablets"]
        return [info["total_row_count"] for info in infos]

    wait_until(lambda: counts() == [3, 3, 3], "all tablets count the rows of the transaction")
    case.flush(path)
    one = case.yt.TablePath(path, client=case.client, ranges=[{"exact": {"tablet_index": 1}}])
    expect([row["text"] for row in case.client.read_table(one)], ["1", "4", "7"])


def program_weak_table(case):
    """rows of a table without a schema keep all their columns"""
    client, path = case.client, case.path()
    client.create("table", path)
    expect(client.get(path + "/@schema_mode"), "weak")
    rows = [{"a": 1, "b": "x"}, {"c": {"d": [1, 2]}}, {"a": True, "e": None}]
    client.write_table(path, rows[:2])
    client.write_table(case.yt.TablePath(path, append=True, client=client), rows[2:])
    expect(list(client.read_table(path)), rows)
    expect(list(client.read_table(path + "{a}[#0:#2]")), [{"a": 1}, {}])
    expect(client.row_count(path), 3)


def program_timestamps_of_values(case):
    """when values were written, as columns of lookups and selects"""
    path = case.make(schema=[column("k", "int64", True), column("a", "int64"),
                             column("b", "int64")])
    case.insert(path, {"k": 1, "a": 1, "b": 1})
    between = case.client.generate_timestamp()
    case.insert(path, {"k": 1, "b": 2}, update=True)
    case.insert(path, {"k": 2, "a": 5})
    row = case.lookup(path, {"k": 1}, with_timestamps=True)[0]
    check(row["$timestamp:a"] < between < row["$timestamp:b"], repr(row))
    names = ["$timestamp:b", "a"]
    expect(case.lookup(path, {"k": 1}, with_timestamps=True, column_names=names),
           [{"a": 1, "$timestamp:b": row["$timestamp:b"]}])
    rows = case.select(f"k, b, [$timestamp:b] as t from [{path}] where [$timestamp:a] < {between}u",
                       with_timestamps=True)
    expect(rows, [{"k": 1, "b": 2, "t": row["$timestamp:b"]}])
    expect(case.select(f"* from [{path}] where k = 1", with_timestamps=True), [row])
    case.fails("No such column", case.lookup, path, {"k": 1}, column_names=names)
    case.fails("Undefined reference", case.select, f"[$timestamp:b] from [{path}]")


def program_shared_writes(case):
    """writers that share a lock do not conflict with each other, but with others"""
    path = case.make()
    case.insert(path, {"key": 1, "value": "a"})

    def locked(kind):
        tx = case.begin()
        tx.lock_rows(path, [{"key": 1}], lock_type=kind)
        return tx

    first, second, reader = locked("shared_write"), locked("shared_write"), locked("shared_strong")
    case.commit(first)
    case.commit(second)
    case.fails(1700, case.commit, reader)


def program_error_codes(case):
    """codes that programs rely on"""
    client, path = case.client, case.make()
    for code, call in ((500, lambda: client.get(case.path("none"))),
                       (500, lambda: client.get(path + "/@none")),
                       (501, lambda: client.create("map_node", path)),
                       (307, lambda: case.insert(path, {"none": 1})),
                       (11000, lambda: client.commit_transaction("1-2-3-4")),
                       (313, lambda: case.lookup(path, {"key": 1}, timestamp=2 ** 63 - 1)),
                       (314, lambda: case.make("bad", schema=[column("a", "int64", True)]))):
        case.fails(code, call)

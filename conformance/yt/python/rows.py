"""Cases C-29 to C-43, C-52 to C-58 and C-71: rows, versions, locks, aggregates, reads as tables."""

import gzip
import json
import zlib

from cases import KEY_VALUE, column
from harness import Skipped, check, expect, wait_until

SUMS = [column("key", "int64", True), column("time", "int64"),
        column("value", "int64", aggregate="sum")]


def c29(case):
    """insert, lookup and delete"""
    path = case.make(schema=[column("x", "string", True), column("y", "string")])
    case.insert(path, {"x": "a", "y": "b"})
    expect(case.select(f"* from [{path}]"), [{"x": "a", "y": "b"}])
    case.insert(path, {"x": "c", "y": "d"})
    expect(case.lookup(path, {"x": "c"}), [{"x": "c", "y": "d"}])
    case.delete(path, {"x": "a"})
    expect(case.select(f"* from [{path}]"), [{"x": "c", "y": "d"}])


def c30(case):
    """repeated keys, some columns"""
    path = case.make()
    case.insert(path, *({"key": i, "value": str(i)} for i in range(10)))
    keys = [{"key": i % 2} for i in range(10)]
    expect(case.lookup(path, *keys), [{"key": i % 2, "value": str(i % 2)} for i in range(10)])
    expect(case.lookup(path, {"key": 1}, column_names=["value"]), [{"value": "1"}])


def c31(case):
    """missing rows keep their place when asked"""
    path = case.make()
    case.insert(path, {"key": 1, "value": "2"})
    rows = case.lookup(path, {"key": 1}, {"key": 2}, keep_missing_rows=True)
    check(len(rows) == 2 and rows[0] == {"key": 1, "value": "2"} and
          (rows[1] is None or isinstance(rows[1], case.yt.yson.YsonEntity)), repr(rows))


def c32(case):
    """required columns"""
    path = case.make(schema=[
        column("key_req", "int64", True, required=True), column("key_opt", "int64", True),
        column("value_req", "int64", required=True), column("value_opt", "int64")])
    for row in ({}, {"key_req": 1, "value_opt": 1},
                {"key_opt": 1, "value_req": 1, "value_opt": 1}):
        error = case.fails("cannot have", case.insert, path, row)
        check("Required column" in str(error.simplify()), "does not say Required column")
    case.insert(path, {"key_req": 1, "value_req": 1, "value_opt": 2})
    case.fails("Missing required column", case.insert, path, {"key_req": 1, "value_opt": 3},
               update=True)
    case.insert(path, {"key_req": 1, "value_req": 5}, update=True)
    expect(case.lookup(path, {"key_req": 1}),
           [{"key_req": 1, "key_opt": None, "value_req": 5, "value_opt": 2}])
    case.fails("Required column", case.delete, path, {"key_opt": 1})
    case.delete(path, {"key_req": 77})


def c33(case):
    """an update needs a value"""
    path = case.make()
    case.fails("At least one non-key column must be specified", case.insert, path, {"key": 1},
               update=True)
    expect(case.select(f"* from [{path}]"), [])


def c34(case):
    """computed columns"""
    path = case.make(schema=[
        column("key1", "int64", True), column("key2", "int64", True,
                                              expression="key1 * 100 + 3"),
        column("value", "string")])
    case.insert(path, {"key1": 1, "value": "a"})
    row = {"key1": 1, "key2": 103, "value": "a"}
    expect(case.select(f"* from [{path}]"), [row])
    expect(case.lookup(path, {"key1": 1}), [row])
    wrong = {"key1": 1, "key2": 103}
    for function in (case.insert, case.lookup, case.delete):
        case.fails("No column", function, path, wrong)
    case.delete(path, {"key1": 1})
    expect(case.select(f"* from [{path}]"), [])


def c35(case):
    """farm_hash as a computed column"""
    path = case.make(schema=[
        column("hash", "uint64", True, expression="farm_hash(key)"), column("key", "int64", True),
        column("value", "string")])
    case.insert(path, {"key": 2, "value": "x"})
    expect([int(row["hash"]) for row in case.lookup(path, {"key": 2})], [3427386618069609762])
    case.delete(path, {"key": 2})
    expect(case.lookup(path, {"key": 2}), [])


def c36(case):
    """null in a column of type any"""
    path = case.make(schema=[column("key", "int64", True), column("value", "any")])
    query = f"key from [{path}] where is_null(value)"
    case.insert(path, {"key": 1, "value": None})
    expect(case.select(query), [])
    form = case.yt.YsonFormat(attributes={"enable_null_to_yson_entity_conversion": False})
    case.insert(path, {"key": 1, "value": None}, format=form)
    expect(case.select(query), [{"key": 1}])


def c37(case):
    """conversions of types, off and on"""
    path = case.make(schema=[
        column("k", "int64", True), column("u", "uint64"), column("b", "boolean"),
        column("d", "double")])
    row = '{k=1u;u=2;b="false";d=3};'
    parameters = {"path": path, "output_format": "json"}
    strict = {"$value": "yson", "$attributes": {"enable_integral_type_conversion": False}}
    for command, body in (("insert_rows", "{k=1;u=2};"), ("insert_rows", "{k=1u};"),
                          ("lookup_rows", "{k=1u};"), ("delete_rows", "{k=1u};")):
        case.fails("Invalid type", case.call, command, {**parameters, "input_format": strict},
                   body=body)
    wide = {"$value": "yson", "$attributes": {"enable_type_conversion": True}}
    case.call("insert_rows", {**parameters, "input_format": wide}, body=row)
    got = case.lookup(path, {"k": 1})[0]
    expect((int(got["k"]), int(got["u"]), bool(got["b"]), float(got["d"])), (1, 2, False, 3.0))


LOCKED = [column("key", "int64", True), column("a", "int64", lock="a"),
          column("b", "int64", lock="b"), column("c", "int64", lock="c")]


def write(case, path, tx, name):
    case.insert(path, {"key": 1, name: 1}, client=tx, update=True)


def lock(path, tx, names, kind):
    tx.lock_rows(path, [{"key": 1}], locks=names, lock_type=kind)


def c38(case):
    """locks of columns, weak and strong"""
    path = case.make(schema=LOCKED)
    tx1, tx2 = case.begin(), case.begin()
    write(case, path, tx1, "a")
    lock(path, tx1, ["a", "c"], "shared_weak")
    write(case, path, tx2, "b")
    case.commit(tx1)
    case.commit(tx2)
    tx1, tx2, tx3 = case.begin(), case.begin(), case.begin()
    write(case, path, tx1, "a")
    lock(path, tx1, ["a", "c"], "shared_weak")
    write(case, path, tx2, "b")
    lock(path, tx2, ["c"], "shared_weak")
    lock(path, tx3, ["a"], "shared_weak")
    case.commit(tx1)
    case.commit(tx2)
    case.fails(1700, case.commit, tx3)
    tx1, tx2 = case.begin(), case.begin()
    lock(path, tx1, ["a"], "shared_weak")
    write(case, path, tx2, "a")
    case.commit(tx2)
    case.fails(1700, case.commit, tx1)
    tx1, tx2 = case.begin(), case.begin()
    lock(path, tx1, ["a"], "shared_strong")
    write(case, path, tx2, "a")
    case.commit(tx1)
    case.fails(1700, case.commit, tx2)


def c39(case):
    """two transactions that write one key"""
    path = case.make()
    tx1, tx2 = case.begin(), case.begin()
    case.insert(path, {"key": 0, "value": "x"}, client=tx1)
    case.delete(path, {"key": 0}, client=tx2)
    for client in (case.client, tx1, tx2):
        expect(case.lookup(path, {"key": 0}, client=client), [])
    case.commit(tx1)
    expect(case.lookup(path, {"key": 0}), [{"key": 0, "value": "x"}])
    expect(case.lookup(path, {"key": 0}, client=tx2), [])
    error = case.fails("is not found", case.commit, tx1)
    check("Sticky transaction" in str(error.simplify()), "does not say sticky")
    case.fails("Row lock conflict due to concurrent write", case.commit, tx2)


def c40(case):
    """atomicity of table and write must be the same"""
    full = case.make("full")
    none = case.make("none", atomicity="none")
    row = {"key": 1, "value": "a"}
    case.fails("Invalid atomicity mode", case.insert, full, row, atomicity="none")
    case.fails("Invalid atomicity mode", case.insert, none, row)
    case.insert(none, row, atomicity="none")
    expect(case.lookup(none, {"key": 1}), [row])


def c41(case):
    """writes of a transaction meet an unmounted table at commit"""
    path = case.make(mount=False)
    tx = case.begin()
    case.insert(path, {"key": 1, "value": "a"}, client=tx)
    case.fails(1702, case.commit, tx)


def one(case, path):
    rows = case.lookup(path, {"key": 1}, column_names=["value"])
    return rows[0]["value"] if rows else "absent"


def c42(case):
    """sums are kept over flushes and deletes"""
    path = case.make(schema=SUMS)
    for time, wanted in ((1, 10), (2, 20), (3, 30)):
        case.insert(path, {"key": 1, "time": time, "value": 10}, aggregate=True)
        expect(one(case, path), wanted)
    case.flush(path)
    expect(one(case, path), 30, "after a flush")
    case.delete(path, {"key": 1})
    expect(one(case, path), "absent")
    case.insert(path, {"key": 1, "time": 1, "value": 10}, aggregate=True)
    expect(one(case, path), 10, "after a delete")
    case.insert(path, {"key": 1, "time": 2, "value": 10})
    expect(one(case, path), 10, "overwritten")
    case.insert(path, {"key": 1, "time": 3, "value": 10}, aggregate=True)
    expect(one(case, path), 20)


def c43(case):
    """an aggregate that is not written keeps its value"""
    for name in ("min", "max", "sum", "first"):
        schema = [SUMS[0], SUMS[1], column("value", "int64", aggregate=name)]
        path = case.make("t_" + name, schema=schema)
        case.insert(path, {"key": 1, "time": 1}, aggregate=True)
        expect(one(case, path), None, name)
        case.insert(path, {"key": 1, "time": 2, "value": 10}, aggregate=True)
        case.insert(path, {"key": 1, "time": 3}, aggregate=True)
        expect([dict(row) for row in case.lookup(path, {"key": 1})],
               [{"key": 1, "time": 3, "value": 10}], name)


def c52(case):
    """versioned lookups"""
    path = case.make(max_data_versions=10, min_data_versions=10)
    for value in ("a", "b"):
        case.insert(path, {"key": 1, "value": value})
    row = case.lookup(path, {"key": 1}, versioned=True)[0]
    expect(len(row.attributes["write_timestamps"]), 2)
    expect([str(value) for value in row["value"]], ["b", "a"])
    times = [value.attributes["timestamp"] for value in row["value"]]
    expect(times, list(row.attributes["write_timestamps"]))


def c53(case):
    """a retention timestamp above the timestamp"""
    path = case.make()
    case.insert(path, {"key": 1, "value": "a"})
    now = case.client.generate_timestamp()
    text = "Retention timestamp"
    case.fails(text, case.lookup, path, {"key": 1}, timestamp=now, retention_timestamp=now + 1)
    case.fails(text, case.select, f"* from [{path}]", timestamp=now, retention_timestamp=now + 1)
    case.fails(text, case.client.read_table,
               f"<timestamp={now};retention_timestamp={now + 1}>{path}")
    case.lookup(path, {"key": 1}, timestamp=now, retention_timestamp=now)


def c54(case):
    """what was compacted away is not read"""
    path = case.make(min_data_ttl=0, max_data_ttl=0, min_data_versions=0, max_data_versions=1)
    case.insert(path, {"key": 1, "value": "a"})
    old = case.client.generate_timestamp()
    case.insert(path, {"key": 1, "value": "b"})
    case.compact(path, lambda: case.error(case.lookup, path, {"key": 1}, timestamp=old))
    text = case.error(case.lookup, path, {"key": 1}, timestamp=old)
    check("is less than tablet" in text and "retained timestamp" in text, text)


def c55(case):
    """read_table of a dynamic table"""
    path = case.make()
    for value in ("a", "b"):
        case.insert(path, *({"key": i, "value": value} for i in range(10)))
        case.flush(path)
    case.fails("Row index selectors are not supported", case.client.read_table,
               f"{path}[#5:]")
    rows = list(case.client.read_table(f"{path}[(2):(9)]"))
    expect(rows, [{"key": i, "value": "b"} for i in range(2, 9)])
    rows = list(case.client.read_table(path + "{value}"))
    expect(rows, [{"value": "b"}] * 10)
    expect(list(case.client.read_table(path + "{zzzzz}")), [{}] * 10)


def c56(case):
    """a snapshot lock and rows that are not flushed"""
    path = case.make(enable_dynamic_store_read=False)
    tx = case.begin("master")
    tx.lock(path, mode="snapshot")
    node = "#" + case.client.get(path + "/@id")
    case.insert(path, {"key": 1, "value": "a"})
    case.unmount(path)
    expect(list(case.client.read_table(path)), [{"key": 1, "value": "a"}])
    expect(list(tx.read_table(node)), [])
    now = case.client.generate_timestamp()
    case.fails("Requested timestamp is out of range for table", tx.read_table,
               f"<timestamp={now}>{node}")
    case.abort(tx)


def counters(case, path):
    return case.client.get(path + "/@tablets/0/performance_counters")


def c57(case):
    """the lookup cache and its counters"""
    path = case.make(lookup_cache_rows_per_tablet=50)
    case.insert(path, *({"key": i, "value": str(i)} for i in range(500)))
    case.flush(path)
    counted = []
    for step in (2, 4, 6, 8):
        rows = case.lookup(path, *({"key": i} for i in range(100, 200, step)),
                           use_lookup_cache=True)
        expect([row["key"] for row in rows], list(range(100, 200, step)))
        wanted = {2: 0, 4: 25, 6: 42, 8: 55}[step]
        wait_until(lambda: counters(case, path)["dynamic_row_lookup_count"] == wanted,
                  f"{wanted} rows from the cache after step {step}, not "
                  f"{counters(case, path)['dynamic_row_lookup_count']}", seconds=10)
        counted.append(wanted)
    case.lookup(path, {"key": 100})
    expect(counters(case, path)["static_chunk_row_lookup_count"], 51)
    case.insert(path, {"key": 104, "value": "new"})
    expect(case.lookup(path, {"key": 104}, use_lookup_cache=True), [{"key": 104, "value": "new"}])


def c58(case):
    """a map operation over a dynamic table"""
    raise Skipped("operations are not served yet (docs/limits.md)")


def c71(case):
    """a body that is called gzip and is zlib; the answer of insert_rows is empty"""
    path = case.make()
    parameters = {"X-YT-Parameters": json.dumps({"path": path, "input_format": "json"})}
    for coding in (zlib.compress, gzip.compress):
        status, _, body = case.http("PUT", "/api/v4/insert_rows", {
            "Content-Encoding": "gzip", **parameters}, coding(b'{"key":1,"value":"a"}\n'))
        expect((status, body), (200, b""))
    found = case.call("lookup_rows", {"path": path, "input_format": "json",
                                      "output_format": "json"}, body=b'{"key":1}')
    expect(found, {"key": 1, "value": "a"})

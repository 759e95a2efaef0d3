"""Cases C-23 to C-28 and C-44 to C-51: tables, tablets, schemas."""

from cases import KEY_VALUE, column
from harness import check, expect


def pivots(case, path):
    return [list(pivot) for pivot in case.client.get(path + "/@pivot_keys")]


def c23(case):
    """a schema of key columns only is refused"""
    case.fails("New table schema is not valid", case.make, schema=[column("a", "int64", True)])
    expect(case.client.exists(case.path()), False)


def c24(case):
    """pivot keys at creation"""
    for keys, text in (([], "Tablet count must be positive"),
                       ([[10], [20]], "First pivot key must be empty"),
                       ([[], [1], [1]], "Pivot keys must be strictly increasing")):
        case.fails(text, case.make, mount=False, pivot_keys=keys)
    path = case.make(mount=False, pivot_keys=[[], [1], [2], [3]])
    expect(case.client.get(path + "/@tablet_count"), 4)


def c25(case):
    """mount, twice; unmount, twice; mount frozen"""
    client, path = case.client, case.make()
    tablets = client.get(path + "/@tablets")
    expect((len(tablets), list(tablets[0]["pivot_key"])), (1, []))
    cell = tablets[0]["cell_id"]
    check(tablets[0]["tablet_id"] in client.get(f"//sys/tablet_cells/{cell}/@tablet_ids"),
          "the tablet is not listed by its cell")
    case.mount(path)
    case.unmount(path)
    case.unmount(path)
    case.mount(path, freeze=True)
    expect((client.get(path + "/@tablet_state"), client.get(path + "/@tablets/0/state")),
           ("frozen", "frozen"))


def c26(case):
    """an unmounted table cannot be read, its rows stay"""
    path = case.make()
    case.insert(path, {"key": 1, "value": "2"})
    case.unmount(path)
    case.fails(1702, case.lookup, path, {"key": 1})
    case.fails("Cannot read from tablet", case.lookup, path, {"key": 1})
    case.mount(path)
    expect(case.lookup(path, {"key": 1}), [{"key": 1, "value": "2"}])


def c27(case):
    """a frozen table is read, not written"""
    path = case.make()
    case.insert(path, {"key": 1, "value": "2"})
    case.client.freeze_table(path, sync=True)
    expect(case.lookup(path, {"key": 1}), [{"key": 1, "value": "2"}])
    expect(case.select(f"* from [{path}]"), [{"key": 1, "value": "2"}])
    case.fails("has no mounted tablets", case.insert, path, {"key": 2, "value": "3"})
    case.client.unfreeze_table(path, sync=True)
    case.insert(path, {"key": 2, "value": "3"})


def c28(case):
    """commands that do not fit the state of a tablet"""
    client, path = case.client, case.make()
    case.fails('Cannot mount tablet', client.mount_table, path, freeze=True)
    client.freeze_table(path, sync=True)
    case.fails("Cannot mount tablet", client.mount_table, path)
    case.unmount(path)
    case.fails("Cannot freeze tablet", client.freeze_table, path)
    case.fails("Cannot unfreeze tablet", client.unfreeze_table, path)


def c44(case):
    """reshard of ranges of tablets"""
    schema = [column("k", "int64", True), column("l", "uint64", True), column("v", "string")]
    client, path = case.client, case.make(schema=schema, mount=False)
    case.fails("must be strictly increasing", client.reshard_table, path, [[], []])
    client.reshard_table(path, [[], [100]], sync=True)
    client.reshard_table(path, [[100], [200]], first_tablet_index=1, last_tablet_index=1, sync=True)
    expect(pivots(case, path), [[], [100], [200]])
    at_1 = {"first_tablet_index": 1, "last_tablet_index": 1}
    case.fails("First pivot key must match that of the first tablet", client.reshard_table, path,
               [[101]], **at_1)
    case.fails("is out of range", client.reshard_table, path, [[]], first_tablet_index=3,
               last_tablet_index=3)
    case.fails("Last pivot key must be strictly less", client.reshard_table, path, [[100], [200]],
               **at_1)
    case.fails("Mismatched type of column", client.reshard_table, path, [[], [100, 200]])


def c45(case):
    """uniform reshard of an int64 key"""
    client, path = case.client, case.make(mount=False)
    client.reshard_table(path, tablet_count=2, uniform=True, sync=True)
    expect(pivots(case, path), [[], [0]])
    client.reshard_table(path, tablet_count=5, uniform=True, sync=True)
    expect(pivots(case, path), [[], [-5534023222112865485], [-1844674407370955162],
                                [1844674407370955161], [5534023222112865484]])


def c46(case):
    """a key column is added after the others only"""
    client, path = case.client, case.make()
    case.insert(path, {"key": 1, "value": "a"}, {"key": 2, "value": "b"})
    case.unmount(path)
    key, value = KEY_VALUE
    new = column("x", "int64", True)
    case.fails("Table schemas are incompatible", client.alter_table, path, schema=[new, key, value])
    case.fails("New table schema is not valid", client.alter_table, path, schema=[key, value, new])
    client.alter_table(path, schema=[key, new, value])
    expect(list(client.read_table(path)), [{"key": 1, "x": None, "value": "a"},
                                           {"key": 2, "x": None, "value": "b"}])
    case.fails("Table schemas are incompatible", client.alter_table, path, schema=[key, value])


def c47(case):
    """schemas of mounted tables do not change; sorted stays sorted"""
    client, path = case.client, case.make()
    wider = [*KEY_VALUE, column("more", "int64")]
    case.fails("Cannot change table schema", client.alter_table, path, schema=wider)
    case.unmount(path)
    case.fails("Cannot change dynamic table type from sorted to ordered or vice versa",
               client.alter_table, path, schema=[column("key", "int64"), column("value", "string")])


def c48(case):
    """copies of dynamic tables"""
    client, path, copy = case.client, case.make(), case.path("copy")
    case.insert(path, {"key": 1, "value": "a"})
    case.fails("Cannot copy dynamic table", client.copy, path, copy)
    client.freeze_table(path, sync=True)
    client.copy(path, copy)
    expect((client.get(copy + "/@tablet_state"), client.get(path + "/@tablet_state")),
           ("unmounted", "frozen"))
    client.unfreeze_table(path, sync=True)
    case.mount(copy)
    case.insert(path, {"key": 2, "value": "b"})
    case.insert(copy, {"key": 3, "value": "c"})
    expect([row["key"] for row in case.select(f"key from [{path}]")], [1, 2])
    expect([row["key"] for row in case.select(f"key from [{copy}]")], [1, 3])


def c49(case):
    """builtin attributes cannot be set"""
    path = case.make(mount=False)
    error = case.fails("cannot be set", case.client.set, path + "/@key_columns", ["key"])
    check("Builtin attribute" in str(error.simplify()), "not called builtin")


def c50(case):
    """@remount_needed_tablet_count"""
    client = case.client
    path = case.make(mount=False, pivot_keys=[[]] + [[i] for i in range(1, 10)])

    def needed():
        return client.get(path + "/@remount_needed_tablet_count")

    case.mount(path, first_tablet_index=0, last_tablet_index=4)
    client.set(path + "/@mount_config/min_data_ttl", 0)
    expect(needed(), 5, "after a change")
    client.remount_table(path)
    expect(needed(), 0, "after remount")
    client.set(path + "/@max_data_ttl", 5)
    expect(needed(), 5, "after another change")
    client.remount_table(path, first_tablet_index=0, last_tablet_index=1)
    expect(needed(), 3, "after remount of 0..1")
    client.remount_table(path, first_tablet_index=1, last_tablet_index=2)
    expect(needed(), 2, "after remount of 1..2")
    case.mount(path)
    expect(needed(), 2, "after mount of all")
    case.unmount(path)
    expect(needed(), 0, "after unmount")


def c51(case):
    """mount options as attributes and in mount_config"""
    client = case.client
    path = case.make(mount=False, min_data_ttl=123, mount_config={"max_data_ttl": 456})
    expect(dict(client.get(path + "/@mount_config")), {"min_data_ttl": 123, "max_data_ttl": 456})
    both = case.make("both", mount=False, min_data_ttl=1, mount_config={"min_data_ttl": 2})
    expect((client.get(both + "/@min_data_ttl"), client.get(both + "/@mount_config/min_data_ttl")),
           (2, 2))

"""Cases C-59 to C-69: queries."""

import json

from cases import column, lists
from harness import expect


def numbers(case, name="q"):
    path = case.make(name, schema=[column("a", "int64", True), column("b", "int64")])
    case.insert(path, *({"a": i, "b": 10 * i} for i in range(1, 10)))
    return path


def c59(case):
    """sums of groups, expressions in key order"""
    q = numbers(case)
    expect(case.select(f"sum(b) as s from [{q}] group by 1 as k"), [{"s": 450}])
    rows = case.select(f"k, sum(b) as s from [{q}] group by a % 2 as k")
    expect(lists(rows, "k", "s"), [(0, 200), (1, 250)])
    rows = case.select(f"2 * a + b - 1 as s from [{q}] limit 1000")
    expect([row["s"] for row in rows], [12 * i - 1 for i in range(1, 10)])


def c60(case):
    """types of values, as text YSON"""
    path = case.make(schema=[column("a", "int64", True), column("b", "boolean"),
                             column("c", "string"), column("d", "uint64")])
    case.insert(path, {"a": 10, "b": False, "c": "hello", "d": case.yt.yson.YsonUint64(32)})
    answer = case.client.select_rows(f'a, b, c, d from [{path}] where c="hello"', raw=True,
                                     format=case.yt.YsonFormat(format="text"))
    text = answer.read() if hasattr(answer, "read") else b"".join(answer)
    expect(text, b'{"a"=10;"b"=%false;"c"="hello";"d"=32u;};\n')


def c61(case):
    """limit, order and offset"""
    q = numbers(case)
    expect(case.select(f"* from [{q}] limit 1"), [{"a": 1, "b": 10}])
    path = case.make("o", schema=[column("k", "int64", True), column("v", "int64")])
    case.insert(path, *({"k": i, "v": i * 37 % 101} for i in range(100)))
    rows = case.select(f"* from [{path}] order by v offset 20 limit 10")
    expect([row["v"] for row in rows], sorted(i * 37 % 101 for i in range(100))[20:30])
    case.fails("ORDER BY used without LIMIT", case.select, f"* from [{path}] order by v")


def c62(case):
    """null equals null"""
    path = case.make(schema=[column("a", "int64", True), column("b", "int64")])
    case.insert(path, {"a": None, "b": 1}, {"a": 1, "b": 2})
    expect(case.select(f"* from [{path}] where a = null"), [{"a": None, "b": 1}])


def c63(case):
    """full scans are refused when asked"""
    q = numbers(case)
    case.fails("Primary table key is not used in the where clause", case.select, f"* from [{q}]",
               allow_full_scan=False)
    expect(case.select(f"b from [{q}] where a = 3", allow_full_scan=False), [{"b": 30}])


def c64(case):
    """between with prefixes of tuples"""
    path = case.make(schema=[column("a", "int64", True), column("b", "int64", True),
                             column("c", "int64")])
    case.insert(path, *({"a": i // 10, "b": i % 10, "c": i} for i in range(100)))
    rows = case.select(f"c from [{path}] where (a, b) between ((1) and (1, 2), (2, 3) and (2, 4), "
                       "(3, 5) and (3), 4 and 5)")
    expect(sorted(row["c"] for row in rows),
           [10, 11, 12, 23, 24, 35, 36, 37, 38, 39, *range(40, 60)])


def c65(case):
    """totals and having"""
    q = numbers(case)
    grouped = f"x, sum(b) as t from [{q}] where a > 1 group by a % 2 = 1 as x "
    for clause, wanted in (
            ("with totals", [(False, 200), (True, 240), (None, 440)]),
            ("having t > 200 with totals", [(True, 240), (None, 240)]),
            ("with totals having t > 200", [(True, 240), (None, 440)])):
        rows = case.select(grouped + clause)
        expect(lists(rows, "x", "t"), sorted(wanted, key=repr), clause)
    expect(case.select(f"x, sum(b) as t from [{q}] where a > 100 group by a % 2 = 1 as x with "
                       "totals"), [])


def c66(case):
    """left join"""
    left = case.make("left", schema=[column("a", "int64", True), column("b", "int64")])
    right = case.make("right", schema=[column("b", "int64", True), column("c", "int64")])
    case.insert(left, *({"a": i, "b": i * 10} for i in range(1, 5)))
    case.insert(right, *({"b": i * 10, "c": i * 100} for i in range(1, 3)))
    rows = case.select(f"a, b, c from [{left}] left join [{right}] using b")
    expect(lists(rows, "a", "b", "c"),
           [(1, 10, 100), (2, 20, 200), (3, 30, None), (4, 40, None)])


def c67(case):
    """null in conditions and in arithmetic; transform"""
    path = case.make(schema=[column("a", "int64", True), column("b", "int64"),
                             column("c", "int64"), column("d", "double")])
    case.insert(path, {"a": 4, "b": 1, "c": 2, "d": 4.0}, {"a": -10, "b": None, "c": 2},
                {"a": 15, "b": 3, "c": None})
    keys = [row["a"] for row in case.select(f"a from [{path}] where b > 0")]
    expect(sorted(keys), [4, 15])
    keys = [row["a"] for row in case.select(f"a from [{path}] where b > 0 or is_null(b)")]
    expect(sorted(keys), [-10, 4, 15])
    rows = case.select(f"a, b + c as s from [{path}]")
    expect(sorted(lists(rows, "a", "s")), sorted([(-10, None), (4, 3), (15, None)]))
    rows = case.select(f"a, transform(a, (4.0, -10), (13, 17)) as t from [{path}]")
    expect(sorted(lists(rows, "a", "t")), sorted([(-10, 17), (4, 13), (15, None)]))


def c68(case):
    """statistics only when asked"""
    q = numbers(case)
    for enabled in (True, False):
        _, headers, _ = case.http("GET", "/api/v4/select_rows", {"X-YT-Parameters": json.dumps({
            "query": f"k, sum(b) as s from [{q}] group by a % 2 as k",
            "enable_statistics": enabled})})
        found = json.loads(headers["x-yt-response-parameters"])
        expect([name in found for name in ("read_time", "grouped_row_count")], [enabled] * 2)


def c69(case):
    """wrong commands are errors"""
    path = case.make()
    for function, argument in ((case.select, f"* from [{case.path('none')}]"),
                               (case.select, "abcdef")):
        case.fails("", function, argument)
    case.fails("", case.insert, path, {"unknown": 1})
    for command, parameters, body in (
            ("select_rows", {"query": f"* from [{case.path('none')}]"}, None),
            ("select_rows", {"query": "abcdef"}, None),
            ("insert_rows", {"path": path, "input_format": "json"}, b'{"unknown":1}')):
        status, headers, answer = case.http(
            "PUT", "/api/v4/" + command, {"X-YT-Parameters": json.dumps(parameters)}, body)
        expect(status, 400, command)
        expect(json.loads(answer)["code"], int(headers["x-yt-response-code"]), "the code")
        expect(json.loads(answer), json.loads(headers["x-yt-error"]), "the error")

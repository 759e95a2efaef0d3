"""The typed API of the Python client: rows as dataclasses, in the format skiff."""

import typing

from harness import expect

# Rows of every kind of type that the client writes as Skiff.


def point(yt):
    @yt.yt_dataclass
    class Point:
        x: int
        y: typing.Optional[str]
    return Point


def row(yt, inner):
    @yt.yt_dataclass
    class Row:
        number: int
        small: yt.schema.Int8
        text: typing.Optional[str]
        raw: bytes
        share: float
        flag: bool
        many: typing.List[int]
        inside: inner
        pair: typing.Tuple[int, str]
        named: typing.Dict[str, int]
        maybe: typing.Optional[typing.List[typing.Optional[int]]]
    return Row


def program_typed_rows(case):
    """rows of dataclasses are written and read in the format skiff"""
    client, path = case.client, case.path()
    inner = point(case.yt)
    kind = row(case.yt, inner)
    rows = [kind(number=i - 3, small=i - 5, text=None if i % 2 else f"text {i}", raw=bytes([i, 255]),
                 share=i / 4, flag=i % 3 == 0, many=list(range(i)),
                 inside=inner(x=i, y=None if i % 3 else "y"), pair=(i, "ü"),
                 named={"a": i, "b": -i}, maybe=None if i % 4 == 0 else [i, None])
            for i in range(10)]
    client.write_table_structured(path, kind, rows)
    expect(list(client.read_table_structured(path, kind)), rows)
    expect([one.number for one in client.read_table_structured(path + "[#2:#5]", kind)], [-1, 0, 1])


def program_typed_row_indexes(case):
    """rows of several ranges know their numbers"""
    client, path = case.client, case.path()
    inner = point(case.yt)
    client.write_table_structured(path, inner, [inner(x=i, y=str(i)) for i in range(20)])
    found = []
    iterator = client.read_table_structured(path + "[#3:#5,#10:#12]", inner)
    for one, context in iterator.with_context():
        found.append((one.x, context.get_row_index(), context.get_range_index()))
    expect(found, [(3, 3, 0), (4, 4, 0), (10, 10, 1), (11, 11, 1)])

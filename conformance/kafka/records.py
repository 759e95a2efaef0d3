"""Record batches (magic 2): built without compression, taken apart with none or gzip."""

import gzip
import struct
import time

from wire import ProtocolError, Reader, zigzag

BATCH_HEAD = ">qiibIhiqqqhii"
HEAD_BYTES = struct.calcsize(BATCH_HEAD)
CRC_STARTS = 21
LENGTH_STARTS = 12


def make_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC_TABLE = make_table()


def crc32c(data):
    crc = 0xffffffff
    table = CRC_TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xff] ^ crc >> 8
    return crc ^ 0xffffffff


def nullable_bytes(value):
    return zigzag(-1) if value is None else zigzag(len(value)) + value


def record(index, key, value, timestamp_delta):
    body = (b"\0" + zigzag(timestamp_delta) + zigzag(index) + nullable_bytes(key) +
            nullable_bytes(value) + zigzag(0))
    return zigzag(len(body)) + body


def batch(values, producer_id=-1, epoch=-1, sequence=-1, timestamp=None, key=None):
    """One batch; record i has the timestamp `timestamp` + i."""
    timestamp = int(time.time() * 1000) if timestamp is None else timestamp
    records = b"".join(record(i, key, value, i) for i, value in enumerate(values))
    last = len(values) - 1
    tail = struct.pack(">hiqqqhii", 0, last, timestamp, timestamp + last, producer_id, epoch,
                       sequence, len(values)) + records
    return struct.pack(">qiibI", 0, len(tail) + 9, -1, 2, crc32c(tail)) + tail


def batches(data):
    """Yields (base offset, last offset, codec, timestamps and values or None) of whole batches."""
    at = 0
    while at + HEAD_BYTES <= len(data):
        base, length, _, magic, crc, attributes, last, first_time, *_, count = struct.unpack_from(
            BATCH_HEAD, data, at)
        end = at + LENGTH_STARTS + length
        if end > len(data):
            return
        if magic != 2:
            raise ProtocolError(f"magic {magic}")
        if crc32c(data[at + CRC_STARTS:end]) != crc:
            raise ProtocolError(f"the checksum of the batch at offset {base} is wrong")
        yield base, base + last, attributes & 7, unpack(data[at + HEAD_BYTES:end], attributes & 7,
                                                        first_time, count)
        at = end


def unpack(body, codec, first_time, count):
    if codec > 1:
        return None
    reader = Reader(gzip.decompress(body) if codec == 1 else body)
    out = []
    for _ in range(count):
        reader.zigzag()
        reader.take(1)
        timestamp = first_time + reader.zigzag()
        reader.zigzag()
        key_length = reader.zigzag()
        reader.take(max(key_length, 0))
        value_length = reader.zigzag()
        value = None if value_length < 0 else reader.take(value_length)
        for _ in range(reader.zigzag()):
            reader.take(reader.zigzag())
            reader.take(max(reader.zigzag(), 0))
        out.append((timestamp, value))
    return out

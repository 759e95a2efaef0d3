"""A small Kafka client over plain sockets: every message of messages.txt at every version.

Broker(address).call("Metadata", 4, topics=None) sends one request and returns the decoded response
as a dict. Missing fields get zero, empty or null. A response that does not decode to its last
byte is a ProtocolError.
"""

import pathlib
import re
import socket
import struct

TOKEN = re.compile(r"[\[\]{}?:]|\(\d+\+?(?:-\d+)?\)|@\d+(?:-\d+|\+)?|[\w]+")
NUMBERS = {"bool": ">?", "i8": ">b", "i16": ">h", "u16": ">H", "i32": ">i", "u32": ">I", "i64": ">q"}
FOREVER = 1 << 30
FRAME_BYTES_MAX = 200 << 20


class ProtocolError(Exception):
    pass


class Closed(ProtocolError):
    """The server closed the connection."""


def parse_range(text):
    low, _, high = text.strip("@()").partition("-")
    if low.endswith("+"):
        return int(low[:-1]), FOREVER
    return int(low), int(high) if high else int(low)


def parse_type(tokens):
    token = tokens.pop(0)
    if token == "[":
        kind = ("array", parse_type(tokens))
        tokens.pop(0)
    elif token == "{":
        kind = ("struct", parse_fields(tokens))
        tokens.pop(0)
    else:
        kind = (token, None)
    return kind


def parse_fields(tokens):
    """A list of (name, type, versions, versions that may be null or None)."""
    fields = []
    while tokens and tokens[0] != "}":
        name = tokens.pop(0)
        tokens.pop(0)
        kind, nullable, versions = parse_type(tokens), None, (0, FOREVER)
        if tokens and tokens[0] == "?":
            tokens.pop(0)
            nullable = (0, FOREVER)
            if tokens and tokens[0].startswith("("):
                nullable = parse_range(tokens.pop(0))
        if tokens and tokens[0].startswith("@"):
            versions = parse_range(tokens.pop(0))
        fields.append((name, kind, versions, nullable))
    return fields


class Message:
    def __init__(self, head, request, response):
        self.name, key, versions, flexible = head.split()
        self.key = int(key)
        self.min, self.max = (int(v) for v in versions.split("-"))
        self.flexible_from = FOREVER if flexible == "none" else int(flexible)
        self.request = parse_fields(TOKEN.findall(request.removeprefix("req:")))
        self.response = parse_fields(TOKEN.findall(response.removeprefix("resp:")))


def load_messages():
    text = (pathlib.Path(__file__).parent / "messages.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    messages = [Message(*lines[i:i + 3]) for i in range(0, len(lines), 3)]
    return {message.name: message for message in messages}


MESSAGES = load_messages()


def unsigned_varint(value):
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def zigzag(value):
    return unsigned_varint((value << 1) ^ (value >> 63))


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if count < 0 or self.at + count > len(self.data):
            raise ProtocolError(f"{count} bytes wanted at {self.at} of {len(self.data)}")
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def unsigned_varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def zigzag(self):
        value = self.unsigned_varint()
        return (value >> 1) ^ -(value & 1)

    def skip_tags(self):
        for _ in range(self.unsigned_varint()):
            self.unsigned_varint()
            self.take(self.unsigned_varint())

    def length(self, form, flexible):
        return self.unsigned_varint() - 1 if flexible else self.number(form)


def within(versions, version):
    return versions is not None and versions[0] <= version <= versions[1]


def encode_length(length, form, flexible):
    return unsigned_varint(length + 1) if flexible else struct.pack(form, length)


def encode(kind, value, version, flexible, nullable):
    name, inner = kind
    if name in NUMBERS:
        return struct.pack(NUMBERS[name], value or 0)
    if name == "uuid":
        return value or bytes(16)
    if name == "struct":
        return encode_fields(inner, value or {}, version, flexible)
    form = ">h" if name == "str" else ">i"
    if value is None and nullable:
        return encode_length(-1, form, flexible)
    if name == "array":
        items = [encode(inner, item, version, flexible, False) for item in value or []]
        return encode_length(len(items), form, flexible) + b"".join(items)
    data = (value or "").encode() if isinstance(value, (str, type(None))) else value
    return encode_length(len(data), form, flexible) + data


def encode_fields(fields, values, version, flexible):
    names = {field[0] for field in fields}
    if not names >= values.keys():
        raise ProtocolError(f"no such field: {values.keys() - names}")
    out = b"".join(
        encode(kind, values.get(name), version, flexible, within(nullable, version))
        for name, kind, versions, nullable in fields if within(versions, version))
    return out + b"\0" if flexible else out


def decode(kind, reader, version, flexible):
    name, inner = kind
    if name in NUMBERS:
        return reader.number(NUMBERS[name])
    if name == "uuid":
        return reader.take(16)
    if name == "struct":
        return decode_fields(inner, reader, version, flexible)
    length = reader.length(">h" if name == "str" else ">i", flexible)
    if length < 0:
        return None
    if name == "array":
        return [decode(inner, reader, version, flexible) for _ in range(length)]
    data = reader.take(length)
    return data.decode() if name == "str" else data


def decode_fields(fields, reader, version, flexible):
    values = {name: decode(kind, reader, version, flexible)
              for name, kind, versions, _ in fields if within(versions, version)}
    if flexible:
        reader.skip_tags()
    return values


class Broker:
    """One connection. Responses come in the order of the requests."""

    def __init__(self, address, timeout=30):
        host, _, port = address.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.correlation = 0
        self.waiting = []  # (message, version, correlation) of requests without a response yet.

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send_frame(self, payload):
        self.socket.sendall(struct.pack(">i", len(payload)) + payload)

    def receive_exactly(self, count):
        out = bytearray()
        while len(out) < count:
            try:
                piece = self.socket.recv(min(count - len(out), 1 << 20))
            except ConnectionError as error:
                raise Closed(str(error)) from error
            if not piece:
                raise Closed("the server closed the connection")
            out += piece
        return bytes(out)

    def receive_frame(self):
        size = struct.unpack(">i", self.receive_exactly(4))[0]
        if not 4 <= size <= FRAME_BYTES_MAX:
            raise ProtocolError(f"a frame of {size} bytes")
        return self.receive_exactly(size)

    def send(self, name, version, answered=True, **body):
        message = MESSAGES[name]
        self.correlation += 1
        flexible = version >= message.flexible_from
        head = struct.pack(">hhih", message.key, version, self.correlation, 3) + b"raw"
        self.send_frame(head + (b"\0" if flexible else b"") +
                        encode_fields(message.request, body, version, flexible))
        if answered:
            self.waiting.append((message, version, self.correlation))

    def receive(self):
        message, version, correlation = self.waiting.pop(0)
        reader = Reader(self.receive_frame())
        if (got := reader.number(">i")) != correlation:
            raise ProtocolError(f"answer {got} to request {correlation} ({message.name})")
        flexible = version >= message.flexible_from
        if flexible and message.name != "ApiVersions":
            reader.skip_tags()
        values = decode_fields(message.response, reader, version, flexible)
        if reader.at != len(reader.data):
            raise ProtocolError(f"{len(reader.data) - reader.at} bytes left in the answer to "
                                f"{message.name} v{version}")
        return values

    def call(self, name, version, **body):
        self.send(name, version, **body)
        return self.receive()

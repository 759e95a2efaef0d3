"""What cases use: a client, tables, checks. Cases import nothing of the packages themselves."""

import http.client
import json

from harness import Failed, check, wait_until

RETRIED = 'Duplicate request is not marked as "retry"'
WAIT_SECONDS = 60


KEY_VALUE = [{"name": "key", "type": "int64", "sort_order": "ascending"},
             {"name": "value", "type": "string"}]


def column(name, kind, key=False, **more):
    return {"name": name, "type": kind, **({"sort_order": "ascending"} if key else {}), **more}


def messages(error):
    """Codes and messages of an error and of those inside."""
    inner = [messages(part) for part in error.get("inner_errors", [])]
    return " > ".join([f"[{error.get('code')}] {error.get('message')}", *inner])


class Case:
    """One case: its client, and a folder of its own in the tree."""

    def __init__(self, yt, address, name):
        self.yt = yt
        self.address = address
        self.folder = "//tmp/" + name
        self.client = self.new_client()
        self.has_folder = False

    def new_client(self, **config):
        once = {"retries": {"enable": False}}
        return self.yt.YtClient(self.address, config={
            "dynamic_table_retries": {"enable": False}, "proxy": once, "token": "",
            "tablets_check_interval": 20, **config})

    def path(self, name="t"):
        if not self.has_folder:
            self.has_folder = True
            self.client.create("map_node", self.folder, recursive=True, ignore_existing=True)
        return f"{self.folder}/{name}"

    # Tables.

    def make(self, name="t", schema=None, mount=True, **attributes):
        path = self.path(name)
        self.client.create("table", path, attributes={
            "dynamic": True, "schema": schema or KEY_VALUE, **attributes})
        if mount:
            self.mount(path)
        return path

    def mount(self, path, **more):
        self.client.mount_table(path, sync=True, **more)

    def unmount(self, path):
        self.client.unmount_table(path, sync=True)

    def flush(self, path):
        self.client.freeze_table(path, sync=True)
        self.client.unfreeze_table(path, sync=True)

    def compact(self, path, done):
        """All of the table's chunks are rewritten, which `done()` sees."""
        self.flush(path)
        self.client.set(path + "/@forced_compaction_revision", 1)
        self.client.remount_table(path)
        wait_until(done, "compaction")

    def error(self, function, *arguments, **more):
        """The messages of the error that the call fails with, or nothing."""
        try:
            function(*arguments, **more)
        except self.yt.YtError as error:
            return messages(error.simplify())
        return ""

    def insert(self, path, *rows, client=None, **more):
        (client or self.client).insert_rows(path, list(rows), **more)

    def delete(self, path, *keys, client=None, **more):
        (client or self.client).delete_rows(path, list(keys), **more)

    def lookup(self, path, *keys, client=None, **more):
        return list((client or self.client).lookup_rows(path, list(keys), **more))

    def select(self, query, client=None, **more):
        return list((client or self.client).select_rows(query, **more))

    # Transactions.

    def begin(self, kind="tablet", parent=None, **more):
        """A client whose commands belong to a new transaction, with its id as `tx`."""
        client = self.new_client()
        sticky = {"sticky": True} if kind == "tablet" else {}
        tx = self.client.start_transaction(type=kind, parent_transaction=parent, **sticky, **more)
        self.yt.config.set_command_param("transaction_id", tx, client)
        client.tx = tx
        return client

    def commit(self, tx):
        self.client.commit_transaction(tx.tx)

    def abort(self, tx):
        self.client.abort_transaction(tx.tx)

    # Checks.

    def fails(self, wanted, function, *arguments, **more):
        """The call fails with this text, or this code, somewhere in its errors."""
        try:
            result = function(*arguments, **more)
            if hasattr(result, "__next__"):
                list(result)
        except self.yt.YtError as error:
            if isinstance(wanted, int):
                check(error.contains_code(wanted), f"no code {wanted} in {messages(error.simplify())}")
            else:
                check(wanted in messages(error.simplify()),
                      f'no "{wanted}" in {messages(error.simplify())}')
            return error
        raise Failed(f"no error {wanted!r}")

    # HTTP without a client.

    def http(self, method, target, headers=None, body=None):
        """Status, headers (names in lower case), body."""
        host, _, port = self.address.rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=WAIT_SECONDS)
        try:
            connection.request(method, target, body=body, headers=headers or {})
            response = connection.getresponse()
            return (response.status, {k.lower(): v for k, v in response.getheaders()},
                    response.read())
        finally:
            connection.close()

    def call(self, command, parameters=None, body=None, method=None, version="v4", headers=None):
        """A command with JSON parameters in a header; the parsed answer, or an error is raised."""
        method = method or ("PUT" if body is not None else "GET")
        headers = {"X-YT-Parameters": json.dumps(parameters or {}), **(headers or {})}
        if method == "POST":
            headers.pop("X-YT-Parameters")
            headers["Content-Type"] = "application/json"
            body = json.dumps(parameters or {})
        status, answer_headers, answer = self.http(method, f"/api/{version}/{command}", headers,
                                                   body)
        if status != 200:
            raise self.yt.YtResponseError(json.loads(answer))
        kind = answer_headers.get("content-type", "")
        return json.loads(answer) if answer and "json" in kind else answer


def lists(rows, *names):
    """Rows as sorted tuples of some columns; null first."""
    return sorted((tuple(row[name] for name in names) for row in rows), key=repr)

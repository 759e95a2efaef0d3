"""Parts of scenarios: the server under test, outcomes, and the loop that runs them.

A scenario is a function with a Context; it returns a short note or None, raises Skipped with the
reason, or fails with any other exception.
"""

import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[1]
START_SECONDS_MAX = 60


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def check(condition, why):
    if not condition:
        raise Failed(why)


def expect(got, wanted, what="answer"):
    check(got == wanted, f"{what}: {got!r}, not {wanted!r}")


def free_port():
    """A free port of the loopback address; the next one is free as well."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
                return port
            except (OSError, OverflowError):
                continue


class Server:
    """The server under test: `build/moraine serve`, $SERVE (a command with {data} and {port}) or the
    one at $ADDR, which this program can neither kill nor configure."""

    def __init__(self, folder, options=(), protocol="kafka"):
        self.protocol = protocol
        self.listening = re.compile(rf"listening .*\b{protocol}=(\S+)")
        self.data = pathlib.Path(folder) / "data"
        self.log = pathlib.Path(folder) / "server.log"
        self.options = list(options)
        self.external = os.environ.get("ADDR")
        self.template = os.environ.get("SERVE")
        self.address = self.external
        self.process = None

    def is_moraine(self):
        return not self.external and not self.template

    def command(self):
        if self.template:
            self.address = self.address or f"127.0.0.1:{free_port()}"
            port = self.address.rpartition(":")[2]
            return shlex.split(self.template.format(data=self.data, port=port))
        # After a restart clients must find the server where it was.
        command = [str(ROOT / "build/moraine"), "serve", "--data", str(self.data)]
        for door in ("http", "grpc", "kafka"):
            address = self.address if door == self.protocol else None
            command += ["--" + door, address or "127.0.0.1:0"]
        return [*command, *self.options]

    def start(self):
        if self.external:
            return self
        command = self.command()
        with open(self.log, "ab") as log:
            out = log if self.template else subprocess.PIPE
            self.process = subprocess.Popen(command, stdout=out, stderr=log, cwd=ROOT,
                                            start_new_session=True)
        if not self.template:
            self.await_line()
        self.await_port()
        return self

    def await_line(self):
        os.set_blocking(self.process.stdout.fileno(), False)
        text = ""
        limit = time.monotonic() + START_SECONDS_MAX
        while (found := self.listening.search(text)) is None or not text.endswith("\n"):
            self.check_alive(limit)
            text += (self.process.stdout.read() or b"").decode()
            time.sleep(0.01)
        self.address = found.group(1)

    def await_port(self):
        host, _, port = self.address.rpartition(":")
        limit = time.monotonic() + START_SECONDS_MAX
        while True:
            self.check_alive(limit)
            try:
                socket.create_connection((host, int(port)), 1).close()
                return
            except OSError:
                time.sleep(0.05)

    def check_alive(self, limit=None):
        if self.external:
            return
        if self.process.poll() is not None:
            tail = self.log.read_text(errors="replace")[-400:].strip()
            raise Failed(f"the server ended with {self.process.returncode}: {tail}")
        check(limit is None or time.monotonic() < limit, "the server does not start")

    def kill(self, how=signal.SIGKILL):
        if self.external:
            raise Skipped("the server at ADDR is not ours to kill")
        os.killpg(self.process.pid, how)
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()

    def restart(self):
        self.kill()
        self.start()

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()


class Context:
    def __init__(self, server, folder, quick):
        self.server = server
        self.folder = pathlib.Path(folder)
        self.quick = quick
        self.children = []

    @property
    def address(self):
        return self.server.address

    def scaled(self, count):
        return count // 20 if self.quick else count

    def spawn(self, command, **options):
        """A process that ends no later than the scenario."""
        child = subprocess.Popen([str(word) for word in command], **options)
        self.children.append(child)
        return child

    def run(self, command, seconds=600, **options):
        done = subprocess.run([str(word) for word in command], timeout=seconds,
                              capture_output=True, check=False, **options)
        return done

    def end_children(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
        self.children.clear()


def wait_until(condition, what, seconds=30, step=0.05):
    limit = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < limit, f"not within {seconds} s: {what}")
        time.sleep(step)


def wait_while_moving(condition, progress, what, idle=60, step=0.2):
    """Waits as long as `progress()` changes: how long all of it takes depends on the machine."""
    last, limit = progress(), time.monotonic() + idle
    while not condition():
        now = progress()
        if now != last:
            last, limit = now, time.monotonic() + idle
        check(time.monotonic() < limit, f"no progress for {idle} s: {what}")
        time.sleep(step)


def run_one(context, name, function):
    began = time.monotonic()
    try:
        note = function(context)
        context.server.check_alive()
        outcome, text = "ok", note or ""
    except Skipped as reason:
        outcome, text = "skipped", str(reason)
    except Failed as reason:
        outcome, text = "FAILED", str(reason)
    # A malformed response may raise anything; the others must still run.
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        outcome = "FAILED"
        text = f"{type(error).__name__}: {error} ({pathlib.Path(at.filename).name}:{at.lineno})"
    finally:
        context.end_children()
    seconds = time.monotonic() - began
    text = " ".join(text.split())[:300]
    print(f"{outcome:<8} {name} ({seconds:.1f} s){': ' + text if text else ''}", flush=True)
    if outcome == "FAILED" and not context.server.external and (
            context.server.process.poll() is not None):
        context.server.start()
    return outcome


def run_all(scenarios, quick, only, protocol="kafka", name="kafka"):
    """Runs (name, function) pairs against one server; True when none failed."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="moraine-conformance-", dir=ROOT / "build"))
    server = Server(folder, protocol=protocol)
    outcomes = []
    try:
        server.start()
        context = Context(server, folder, quick)
        for title, function in scenarios:
            if re.search(only, title):
                outcomes.append(run_one(context, title, function))
    finally:
        server.stop()
        if "FAILED" not in outcomes:
            shutil.rmtree(folder, ignore_errors=True)
    counts = ", ".join(f"{outcomes.count(kind)} {kind}" for kind in ("ok", "FAILED", "skipped"))
    kept = f"; server log in {server.log}" if "FAILED" in outcomes else ""
    print(f"{name}: {counts}{kept}")
    return "FAILED" not in outcomes

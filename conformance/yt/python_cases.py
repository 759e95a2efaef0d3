"""Cases that run in the Python client's environment: python/*.py, in one worker process."""

import importlib
import json
import pathlib
import re
import subprocess
import sys

from harness import Failed, ROOT, Skipped
from packages import Packages, install_python

HERE = pathlib.Path(__file__).resolve().parent
MODULES = ("http_api", "tree", "tables", "rows", "queries", "programs", "typed")
FOLDER = ROOT / "build/conformance/yt/python"
PACKAGES = Packages(FOLDER, (), [HERE / "python/requirements.txt"],
                    install_python(HERE / "python/requirements.txt"))
CASE = re.compile(r"^(?:c\d\d|program_).*")


class Worker:
    """The process, started when first needed and again after it ended."""

    def __init__(self):
        self.process = None
        self.address = None

    def run(self, context, module, case):
        folder = PACKAGES.need()
        if self.process is None or self.process.poll() is not None or (
                self.address != context.address):
            self.address = context.address
            # Not a child of the context: it lives as long as the suite.
            self.process = subprocess.Popen(
                [folder / "venv/bin/python", "-B", HERE / "python/worker.py", self.address],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                stderr=open(context.folder / "worker.log", "a", encoding="utf-8"))
        self.process.stdin.write(json.dumps({"module": module, "case": case}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Failed("the worker ended; see worker.log")
        answer = json.loads(line)
        if answer["outcome"] == "FAILED":
            raise Failed(answer["text"])
        if answer["outcome"] == "skipped":
            raise Skipped(answer["text"])
        return answer["text"]


WORKER = Worker()


def scenario(module, case):
    return lambda context: WORKER.run(context, module, case)


def scenarios():
    sys.path.insert(0, str(HERE / "python"))
    found = []
    for name in MODULES:
        module = importlib.import_module(name)
        for case in sorted(filter(CASE.match, dir(module))):
            title = (getattr(module, case).__doc__ or case).strip().splitlines()[0]
            number = case[:3].upper().replace("C", "C-") + " " if case[0] == "c" else ""
            found.append((f"{number}{title}", scenario(name, case)))
    return found


def yt_command():
    """The `yt` program."""
    return PACKAGES.need() / "venv/bin/yt"

"""Scenarios with @ytsaurus/javascript-wrapper; each runs a case of javascript.cjs."""

import pathlib
import shutil

from harness import ROOT, Skipped, check
from packages import Packages, fetch

HERE = pathlib.Path(__file__).resolve().parent
PINS = [HERE / name for name in ("package.json", "package-lock.json")]


def install(folder):
    for pin in PINS:
        shutil.copy(pin, folder)
    return fetch(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], folder,
                 "the JavaScript client")


PACKAGES = Packages(ROOT / "build/conformance/yt/node", ("node", "npm"), PINS, install)


def scenario(case):
    def run(context):
        folder = PACKAGES.need()
        shutil.copy(HERE / "javascript.cjs", folder)
        done = context.run(["node", folder / "javascript.cjs", case, context.address])
        check(done.returncode == 0, done.stderr.decode(errors="replace").strip()[:600])
    return run


SCENARIOS = [(f"{title} with the JavaScript client", scenario(case)) for case, title in (
    ("rows", "C-70 rows"), ("tree", "the tree"), ("transactions", "transactions of the tree"),
    ("tables", "tables"), ("static", "static tables"), ("v4", "version 4"),
    ("errors", "errors"))]

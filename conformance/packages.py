"""Clients from package registries, fetched once into build/conformance; without them scenarios are
skipped.
"""

import re
import shutil
import subprocess
import sys

from harness import Skipped

INSTALL_SECONDS_MAX = 900
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def fetch(command, folder, what):
    """Why the command failed, or nothing."""
    try:
        done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True,
                              check=False, timeout=INSTALL_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return f"{what} cannot be fetched: no end after {INSTALL_SECONDS_MAX} s"
    if done.returncode == 0:
        return ""
    output = COLOURS.sub("", (done.stdout + done.stderr).decode(errors="replace"))
    lines = [line for line in output.splitlines() if line.strip()] or ["no reason given"]
    wrong = [line for line in lines if "error" in line.lower()] or lines[-1:]
    return f"{what} cannot be fetched: {wrong[0][:150]}"


class Packages:
    """Packages of one registry, fetched once, and again when their pins change."""

    def __init__(self, folder, programs, pins, install):
        self.folder = folder
        self.programs = programs
        self.pins = pins
        self.install = install
        self.missing = None  # Why they are missing; "" when they are present.

    def need(self):
        if self.missing is None:
            self.missing = self.fetch()
        if self.missing:
            raise Skipped(self.missing)
        return self.folder

    def fetch(self):
        absent = [program for program in self.programs if shutil.which(program) is None]
        if absent:
            return f"no {' and '.join(absent)} on this machine"
        done = self.folder / "installed"
        pinned = b"".join(pin.read_bytes() for pin in self.pins)
        if done.exists() and done.read_bytes() == pinned:
            return ""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        problem = self.install(self.folder)
        if not problem:
            done.write_bytes(pinned)
        return problem


def install_python(pins):
    """Installs the requirements of a file into a new environment."""
    def install(folder):
        problem = fetch([sys.executable, "-m", "venv", folder / "venv"], folder, "a venv")
        return problem or fetch([folder / "venv/bin/pip", "install", "-q", "-r",
                                 pins], folder, "the Python clients")
    return install

"""What the checks share: which files there are, and C++ text without its comments and literals."""

import argparse
import os
import re
import sys
from pathlib import Path

CODE_FOLDERS = ("src", "include", "sim", "bench", "crash", "conformance")
CODE_SUFFIXES = (".h", ".cpp")
TEST_NAME = re.compile(r"(^|_)(test|tests|testing|fuzz|harness)(_|\.)")

_LITERAL = re.compile(
    r'R"(?P<delimiter>[^\s()\\]{0,16})\((?s:.*?)\)(?P=delimiter)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"
    r"|//[^\n]*"
    r"|/\*(?s:.*?)\*/"
)
_DIRECTIVE = re.compile(r"^[ ]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)


def parse_root(description):
    """The root of the repository, from --root or from where the script lies."""
    parser = argparse.ArgumentParser(description=description)
    here = Path(__file__).resolve().parent.parent
    parser.add_argument("--root", type=Path, default=here, help="root of the tree to check")
    return parser.parse_args().root


def code_files(root):
    """Every .h and .cpp of the project as (path relative to root, text), sorted by path."""
    for folder in CODE_FOLDERS:
        for parent, folders, names in os.walk(root / folder):
            folders.sort()
            for name in sorted(names):
                if name.endswith(CODE_SUFFIXES):
                    path = Path(parent) / name
                    yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")


def is_test(path):
    """Tests, fuzzers and what only they use."""
    return TEST_NAME.search(Path(path).name) is not None


def _blank(match):
    text = match.group(0)
    if text.startswith("/"):
        return re.sub(r"[^\n]", " ", text)
    return text[0] + re.sub(r"[^\n]", "_", text[1:-1]) + text[-1]


def without_literals(text):
    """Comments become spaces and literals underscores; offsets and line numbers stay."""
    return _LITERAL.sub(_blank, text)


def without_directives(text):
    """Preprocessor lines become spaces; offsets and line numbers stay."""
    return _DIRECTIVE.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def report(name, problems, summary):
    """Prints the problems, or the summary when there are none, and ends the program."""
    for problem in problems:
        print(problem)
    if problems:
        print(f"{name}: {len(problems)} problems")
        sys.exit(1)
    print(f"{name}: {summary}")
    sys.exit(0)

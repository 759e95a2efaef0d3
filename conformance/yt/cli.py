"""The commands of seed 002, typed as printed there, with `yt` and with `moraine` in its place."""

import json
import os

import python_cases
from harness import ROOT, check, expect

CREATE = """{program} create table //path/to/table --attributes \\
'{{dynamic=%true;schema=[{{name=key;type=string;sort_order=ascending}}; {{name=value;type=string}}]}}'
"""
COMPACT = "{program} set //table/@forced_compaction_revision 1; {program} remount-table //table"


def shell(context, program, line, stdin=""):
    """Runs a line in a shell where both programs are found and YT_PROXY is the server."""
    tools = context.folder / "bin"
    tools.mkdir(exist_ok=True)
    for name, target in (("yt", python_cases.yt_command()), ("moraine", ROOT / "build/moraine")):
        link = tools / name
        if not link.is_symlink():
            link.symlink_to(target)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}",
                   "YT_PROXY": context.address, "YT_TOKEN": "",
                   "YT_CONFIG_PATCHES": "{dynamic_table_retries={enable=%false};"
                                        "proxy={retries={enable=%false}}}"}
    done = context.run(["bash", "-euo", "pipefail", "-c", line.replace("{program}", program)],
                       env=environment, input=stdin.encode())
    check(done.returncode == 0, f"{line}: exit {done.returncode}: "
          f"{(done.stderr or done.stdout).decode(errors='replace').strip()[-400:]}")
    return done.stdout.decode()


def seed_002(program):
    def scenario(context):
        def run(line, stdin=""):
            return shell(context, program, line, stdin)
        for path in ("//path", "//table"):
            run(f"yt remove {path} --force --recursive")
        run("yt create map_node //path/to --recursive")
        run(CREATE.format(program=program))
        run("yt create table //table --attributes '{dynamic=%true;schema=[{name=key;type=string;"
            "sort_order=ascending};{name=value;type=string}]}'")
        run("{program} mount-table //table --sync")
        run("{program} insert-rows //table --format json", '{"key":"a","value":"b"}\n')
        run(COMPACT.format(program=program))
        found = run("{program} lookup-rows //table --format json", '{"key":"a"}\n')
        expect(json.loads(found), {"key": "a", "value": "b"}, "lookup-rows")
    return scenario


def commands(program):
    def scenario(context):
        def run(line, stdin=""):
            return shell(context, program, line, stdin)
        folder = f"//tmp/cli_{program}"
        run(f"yt remove {folder} --force --recursive")
        run(f"{{program}} create map_node {folder}")
        run(f"{{program}} set {folder}/n 5")
        expect(run(f"{{program}} get {folder}/n").strip(), "5", "get")
        expect(run(f"{{program}} exists {folder}/none").strip(), "false", "exists")
        expect(run(f"{{program}} list {folder}").split(), ["n"], "list")
        run(f"{{program}} create table {folder}/t --attributes '{{dynamic=%true;schema=[{{name=k;"
            "type=int64;sort_order=ascending};{name=v;type=string}]}'")
        run(f"{{program}} mount-table {folder}/t --sync")
        rows = "".join(json.dumps({"k": k, "v": str(k)}) + "\n" for k in range(3))
        run(f"{{program}} insert-rows {folder}/t --format json", rows)
        run(f"{{program}} delete-rows {folder}/t --format json", '{"k":1}\n')
        found = run(f"{{program}} select-rows 'k, v from [{folder}/t]' --format json")
        expect([json.loads(line)["k"] for line in found.splitlines()], [0, 2], "select-rows")
        run(f"{{program}} unmount-table {folder}/t --sync")
        run(f"{{program}} reshard-table {folder}/t '[]' '[2]' --sync")
        expect(run(f"{{program}} get {folder}/t/@tablet_count").strip(), "2", "@tablet_count")
        run(f"{{program}} remove {folder} --recursive")
    return scenario


SCENARIOS = [(f"{what} with {program}", make(program))
             for what, make in (("the commands of seed 002", seed_002),
                                ("C-71 commands of the command line", commands))
             for program in ("yt", "moraine")]

"""Runs cases in one process: reads their names, writes a line of JSON for each outcome.

    worker.py ADDRESS    stdin: {"module": "tree", "case": "c13", "name": "..."} per line
"""

import importlib
import json
import pathlib
import sys
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import yt.wrapper as yt  # noqa: E402

import cases  # noqa: E402
import harness  # noqa: E402


def run(address, request):
    function = getattr(importlib.import_module(request["module"]), request["case"])
    case = cases.Case(yt, address, request["module"] + "_" + request["case"])
    return function(case) or ""


def main():
    address = sys.argv[1]
    output = sys.stdout
    sys.stdout = sys.stderr  # Cases and packages may print.
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"outcome": "ok", "text": run(address, request)}
        except harness.Skipped as reason:
            answer = {"outcome": "skipped", "text": str(reason)}
        except Exception as error:  # noqa: BLE001  Clients raise anything.
            at = traceback.extract_tb(error.__traceback__)
            mine = [frame for frame in at if pathlib.Path(frame.filename).parent ==
                    pathlib.Path(__file__).parent and frame.name != "run"] or at
            simple = getattr(error, "simplify", None)
            text = cases.messages(simple()) if simple else f"{error}"
            kind = "" if isinstance(error, harness.Failed) else type(error).__name__ + ": "
            answer = {"outcome": "FAILED", "text": f"{kind}{text}"[:1500] +
                      f" ({pathlib.Path(mine[-1].filename).name}:{mine[-1].lineno})"}
        print(json.dumps(answer), file=output, flush=True)


if __name__ == "__main__":
    main()

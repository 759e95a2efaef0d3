"""All YTsaurus scenarios."""

import cli
import javascript
import python_cases
import restarts
from harness import run_all

CASES = 71  # Of the list C-01, C-02, ...


def run(quick, only):
    scenarios = [*python_cases.scenarios(), *cli.SCENARIOS, *javascript.SCENARIOS,
                 *restarts.SCENARIOS]
    known = {title[:4] for title, _ in scenarios}
    missing = [number for number in map("C-{:02}".format, range(1, CASES + 1))
               if number not in known]
    if missing:
        raise LookupError(f"no scenario is called {', '.join(missing)}")
    return run_all(scenarios, quick, only, protocol="http", name="yt")

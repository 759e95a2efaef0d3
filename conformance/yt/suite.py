"""All YTsaurus scenarios."""

import cli
import javascript
import python_cases
from harness import run_all


def run(quick, only):
    scenarios = [*python_cases.scenarios(), *cli.SCENARIOS, *javascript.SCENARIOS]
    return run_all(scenarios, quick, only, protocol="http", name="yt")

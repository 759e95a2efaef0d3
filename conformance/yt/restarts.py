"""The server is killed while the Python client works."""

import threading

from harness import Failed
from python_cases import WORKER

PAUSE_SECONDS = 0.7  # Between two kills.


def remembered(context):
    """Repeated requests have the first answers, and change nothing, after a kill."""
    WORKER.run(context, "retries", "remember")
    context.server.restart()
    return WORKER.run(context, "retries", "repeat")


def killed(context):
    """Each change is made once, although the server is killed all the time."""
    over = threading.Event()
    outcome = []

    def work():
        try:
            outcome.append(WORKER.run(context, "retries", "work"))
        except Exception as error:  # noqa: BLE001  It belongs to the main thread.
            outcome.append(error)
        over.set()

    worker = threading.Thread(target=work)
    worker.start()
    kills = 0
    while not over.wait(PAUSE_SECONDS):
        context.server.restart()
        kills += 1
    worker.join()
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    if kills < 3:
        raise Failed(f"only {kills} kills")
    return f"{outcome[0]}, {kills} kills"


SCENARIOS = [("repeated requests after a kill", remembered),
             ("retries of the Python client while the server is killed", killed)]

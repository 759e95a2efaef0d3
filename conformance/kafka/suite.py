"""All Kafka scenarios, cheap ones first."""

import kafka_tools
import kcat
import node_clients
import package_clients
import raw
import raw_groups
from harness import run_all

SCENARIOS = [
    ("C01 metadata of an empty server", kcat.c01_metadata_of_an_empty_server),
    *raw.SCENARIOS,
    *raw_groups.SCENARIOS,
    *kcat.SCENARIOS,
    *node_clients.SCENARIOS,
    *package_clients.SCENARIOS,
    *kafka_tools.SCENARIOS,
]


def run(quick, only):
    return run_all(SCENARIOS, quick, only)

// Metrics of the process itself in the Prometheus format: version, start, CPU time, memory, open
// files, threads. Names are those of Prometheus's own client libraries.
#pragma once

#include <string>

namespace moraine::app {

// Metrics that the system does not provide are left out.
std::string process_metrics();

// Seconds since the process was started.
double uptime_seconds();

}  // namespace moraine::app

#include "gateway/kafka/server/metrics.h"

#include <algorithm>
#include <string>

#include "base/invariant.h"

namespace moraine::kafka {

KafkaMetrics::KafkaMetrics(MetricRegistry& registry)
    : bytes_in(registry.counter("moraine_kafka_request_bytes_total", {}, "Bytes of requests")),
      bytes_out(registry.counter("moraine_kafka_response_bytes_total", {}, "Bytes of responses")),
      closed_for_cause(registry.counter("moraine_kafka_closed_total", {},
                                        "Connections closed because of an error of the client")),
      connections(registry.gauge("moraine_kafka_connections", {}, "Connections of clients")),
      fetches_waiting(
          registry.gauge("moraine_kafka_fetches_waiting", {}, "Fetches that wait for data")),
      registry_(registry) {
  for (const ApiInfo& api : kafka::apis()) {
    const auto key = static_cast<std::size_t>(api.key);
    INVARIANT(key < kApiKeysMax, "API key {}", key);
    const MetricLabels labels{{"api", std::string(api.name)}};
    apis_[key].requests =
        &registry.counter("moraine_kafka_requests_total", labels, "Requests by API");
    apis_[key].latency =
        &registry.histogram("moraine_kafka_request_seconds", labels,
                            "From a request to its response", MetricUnit::kNanoseconds);
  }
}

ErrorCode KafkaMetrics::counted(ErrorCode code) {
  if (code == ErrorCode::kNone) [[likely]]
    return code;
  const auto index = static_cast<std::size_t>(
      std::clamp(static_cast<int>(code) + 1, 0, static_cast<int>(kErrorCodesMax) - 1));
  if (errors_[index] == nullptr) {
    errors_[index] =
        &registry_.counter("moraine_kafka_errors_total", {{"error", std::string(to_string(code))}},
                           "Error codes in responses");
  }
  errors_[index]->add();
  return code;
}

}  // namespace moraine::kafka

// Metrics of the Kafka server.
//
// Threading  Any thread; lookups are done once.
#pragma once

#include <array>
#include <cstdint>

#include "base/metrics.h"
#include "gateway/kafka/protocol/api.h"
#include "queue/kafka/error_code.h"

namespace moraine::kafka {

class KafkaMetrics {
 public:
  explicit KafkaMetrics(MetricRegistry& registry);

  struct Api {
    Counter* requests = nullptr;
    Histogram* latency = nullptr;
  };
  // Requires: an API of the table.
  const Api& of(ApiKey api) const { return apis_[static_cast<std::size_t>(api)]; }
  // Counts `code` when it is an error, and returns it.
  ErrorCode counted(ErrorCode code);

  Counter& bytes_in;
  Counter& bytes_out;
  Counter& closed_for_cause;
  Gauge& connections;
  Gauge& fetches_waiting;

 private:
  static constexpr std::size_t kApiKeysMax = 128;
  // Codes from -1 up; codes past the end are counted with the last.
  static constexpr std::size_t kErrorCodesMax = 128;

  MetricRegistry& registry_;
  std::array<Api, kApiKeysMax> apis_{};
  std::array<Counter*, kErrorCodesMax> errors_{};
};

}  // namespace moraine::kafka

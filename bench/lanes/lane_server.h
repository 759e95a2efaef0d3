// LaneServer: a `moraine serve --lanes N` on a folder of its own.
//
// Promise    The process and its folder are removed with this object.
// Threading  Plain blocking calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "app/kafka_client.h"
#include "base/result.h"
#include "bench/blob_bench.h"
#include "bench/topics_broker.h"
#include "bench/topics_client.h"

namespace moraine::bench {

class LaneServer {
 public:
  static Result<std::unique_ptr<LaneServer>> start(const Setting& setting, std::uint32_t lanes);
  LaneServer(const LaneServer&) = delete;
  LaneServer& operator=(const LaneServer&) = delete;
  ~LaneServer();

  const TcpAddress& address() const { return kafka_->address(); }
  TopicLoad load(const std::string& topic, std::uint32_t partitions) const;
  double cpu_seconds() const { return broker_->usage().cpu_seconds; }
  // The sum over all partitions.
  Result<std::uint64_t> end_offsets(const std::string& topic, std::uint32_t partitions);
  // Its page of metrics.
  Result<std::string> metrics() const;

 private:
  explicit LaneServer(std::string folder) : folder_(std::move(folder)) {}

  const std::string folder_;
  std::unique_ptr<Broker> broker_;
  std::optional<app::KafkaClient> kafka_;  // For requests that are not measured.
};

}  // namespace moraine::bench

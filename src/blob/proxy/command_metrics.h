// CommandMetrics: counts, outcomes and durations of a proxy's commands.
//
//   moraine_proxy_commands_total{command="put",group="82000000",result="ok"}
//   moraine_proxy_command_seconds{command="put",group="82000000"}
//
// Promise    Costs two relaxed atomic additions per command. Without a registry nothing is counted.
// Threading  The proxy's executor; the registry is read from any thread.
#pragma once

#include <array>
#include <cstdint>

#include "base/metrics.h"
#include "blob/group/config.h"
#include "blob/status.h"
#include "io/executor.h"

namespace moraine::blob {

enum class Command : std::uint8_t {
  kPut,
  kGet,
  kBlock,
  kGetBlock,
  kCollect,
  kRange,
  kDiscover,
  kStatus,
};
inline constexpr std::size_t kCommandKinds = 8;

class CommandMetrics {
 public:
  // `registry` outlives this; null: nothing is counted.
  CommandMetrics(MetricRegistry* registry, GroupId group);
  void note(Command command, Status status, Duration took);

 private:
  // kOk: OK, ALREADY and NODATA. kBlocked: BLOCKED, which is normal for a fenced generation.
  // kError: all others.
  enum class Outcome : std::uint8_t { kOk, kBlocked, kError };
  static constexpr std::size_t kOutcomes = 3;
  static Outcome outcome_of(Status status);

  struct Series {
    std::array<Counter*, kOutcomes> ended{};
    Histogram* seconds = nullptr;
  };
  std::array<Series, kCommandKinds> series_{};
  bool on_ = false;
};

}  // namespace moraine::blob

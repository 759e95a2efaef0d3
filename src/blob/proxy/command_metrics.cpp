#include "blob/proxy/command_metrics.h"

#include <fmt/format.h>

namespace moraine::blob {
namespace {

constexpr std::array<const char*, kCommandKinds> kNames{"put",     "get",   "block",    "get_block",
                                                        "collect", "range", "discover", "status"};

}  // namespace

CommandMetrics::CommandMetrics(MetricRegistry* registry, GroupId group) : on_(registry != nullptr) {
  if (!on_) return;
  const std::string group_name = fmt::format("{:x}", group.value);
  for (std::size_t command = 0; command < kCommandKinds; ++command) {
    const MetricLabels labels{{"group", group_name}, {"command", kNames[command]}};
    const auto counter = [&](const char* result) {
      MetricLabels with_result = labels;
      with_result.emplace_back("result", result);
      return &registry->counter("moraine_proxy_commands_total", std::move(with_result),
                                "Commands of this node's proxies, by how they ended");
    };
    Series& series = series_[command];
    series.ended = {counter("ok"), counter("blocked"), counter("error")};
    series.seconds =
        &registry->histogram("moraine_proxy_command_seconds", labels,
                             "Time from a command to its answer", MetricUnit::kNanoseconds);
  }
}

CommandMetrics::Outcome CommandMetrics::outcome_of(Status status) {
  switch (status) {
    case Status::kOk:
    case Status::kAlready:
    case Status::kNoData: return Outcome::kOk;
    case Status::kBlocked: return Outcome::kBlocked;
    default: return Outcome::kError;
  }
}

void CommandMetrics::note(Command command, Status status, Duration took) {
  if (!on_) return;
  const Series& series = series_[static_cast<std::size_t>(command)];
  series.ended[static_cast<std::size_t>(outcome_of(status))]->add();
  series.seconds->observe(static_cast<std::uint64_t>(took.count()));
}

}  // namespace moraine::blob

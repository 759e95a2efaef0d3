#include "app/tablet_guard.h"

#include <fmt/format.h>

#include "app/exit_code.h"
#include "cluster/tablet_ids.h"

namespace moraine::app {

std::optional<std::string> contents_of(std::uint64_t tablet) {
  if (tablet < kTabletIdBase || tablet >= 2 * kTabletIdBase) return std::nullopt;
  if (tablet == kSchemeTabletId.value) return "the tree of all topics and tables";
  if (tablet == kGatewayTabletId.value) return "all consumer groups and producer ids";
  if (tablet == kTimestampTabletId.value) return "the timestamps of all transactions";
  if (tablet == kCoordinatorTabletId.value) return "the outcomes of transactions";
  if (tablet < kFirstTopicTabletId.value) return "state of the system";
  return "partitions of a topic or rows of a table";
}

std::optional<int> refuse_unconfirmed(bool yes, std::string_view command, std::string_view effect,
                                      std::uint64_t tablet) {
  const std::optional<std::string> contents = contents_of(tablet);
  if (yes || !contents) return std::nullopt;
  return report(kExitUsage,
                fmt::format("tablet {} holds {}: {} {}. Nothing was done; give --yes to do it all "
                            "the same (moraine topic remove NAME removes a topic)",
                            tablet, *contents, command, effect));
}

}  // namespace moraine::app

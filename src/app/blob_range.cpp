// moraine blob range FROM TO
#include <fmt/format.h>

#include <limits>

#include "app/blob_client.h"
#include "app/exit_code.h"
#include "app/table.h"
#include "base/json.h"

namespace moraine::app {
namespace {

void show_json(const blob::RangeResult& result) {
  Json json;
  json.object().field("status", to_string(result.status)).key("blobs").array();
  for (const blob::RangeFound& found : result.items) {
    json.object().field("id", found.id.to_string()).field("size", found.id.size());
    json.field("keep", found.keep).field("do_not_keep", found.do_not_keep).end();
  }
  json.end().field("more", result.more).field("blocked_generation", result.blocked).end();
  fmt::print("{}\n", json.take());
}

void show_table(const blob::RangeResult& result) {
  Table table({"BLOB", "SIZE", "FLAGS"});
  std::uint64_t bytes = 0;
  for (const blob::RangeFound& found : result.items) {
    std::string flags = found.keep ? "keep" : "";
    if (found.do_not_keep) flags += flags.empty() ? "do-not-keep" : ",do-not-keep";
    table.add({found.id.to_string(), std::to_string(found.id.size()), flags});
    bytes += found.id.size();
  }
  if (!result.items.empty()) fmt::print("{}", table.text());
  fmt::print("{}, {}{}\n", counted(result.items.size(), "blob"), readable_size(bytes),
             result.more ? " (and more: raise --limit)" : "");
  if (result.blocked != 0) {
    fmt::print("blocked up to generation {}\n", result.blocked);
  }
}

Task<int> range(BlobTarget target, const RangeOptions& options, blob::BlobId from,
                blob::BlobId to) {
  blob::RangeRequest request;
  request.from = from;
  request.to = to;
  request.index_only = true;
  request.must_restore = options.must_restore;
  request.limit = options.limit;
  request.deadline = target.deadline;
  const blob::RangeResult result = co_await target.proxy.range(request);
  if (result.status != blob::Status::kOk) {
    co_return report(result.status, result.reason);
  }
  if (options.target.json) {
    show_json(result);
  } else {
    show_table(result);
  }
  co_return kExitOk;
}

struct Bounds {
  blob::BlobId from;
  blob::BlobId to;
};

Result<Bounds> bounds_of(const RangeOptions& options) {
  if (options.from.empty()) {
    if (options.tablet == 0) {
      return fail(Errc::kInvalidArgument, "give FROM and TO, or --tablet (and --channel)");
    }
    const blob::TabletId tablet{options.tablet};
    const auto channel = static_cast<blob::Channel>(options.channel);
    const Bounds up{blob::BlobId::lowest(tablet, channel), blob::BlobId::highest(tablet, channel)};
    return options.reverse ? Bounds{up.to, up.from} : up;
  }
  if (options.tablet != 0 || options.to.empty()) {
    return fail(Errc::kInvalidArgument, "give both FROM and TO, or --tablet without them");
  }
  TRY(const blob::BlobId from, parse_id(options.from));
  TRY(const blob::BlobId to, parse_id(options.to));
  if (from.tablet() != to.tablet() || from.channel() != to.channel()) {
    return fail(Errc::kInvalidArgument, "a range stays within one tablet and channel");
  }
  return options.reverse ? Bounds{to, from} : Bounds{from, to};
}

}  // namespace

int run_blob_range(const RangeOptions& options) {
  const auto bounds = bounds_of(options);
  if (!bounds) return report(kExitUsage, bounds.error());
  if (options.limit > blob::kRangeIdsMax) {
    return report(kExitUsage, fmt::format("--limit is at most {}", blob::kRangeIdsMax));
  }
  return run_on_target(options.target, [&](BlobTarget target) {
    return range(target, options, bounds->from, bounds->to);
  });
}

}  // namespace moraine::app

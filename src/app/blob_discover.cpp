// moraine blob discover TABLET [--list]
#include <fmt/format.h>

#include "app/blob_client.h"
#include "app/exit_code.h"
#include "app/tablet_guard.h"
#include "base/json.h"
#include "cluster/local/files.h"

namespace moraine::app {
namespace {

int show(const DiscoverOptions& options, const blob::DiscoverResult& result) {
  const bool inside_json = options.target.json && options.output == "-";
  if (options.body && !inside_json) {
    const auto written = write_bytes(options.output, result.body);
    if (!written) return report(written.error());
  }
  if (options.target.json) {
    Json json;
    json.object().field("status", to_string(result.status)).field("id", result.id.to_string());
    json.field("blocked_generation", result.blocked);
    if (options.body && inside_json) json.field("data_base64", base64(result.body));
    fmt::print("{}\n", json.end().take());
  } else if (!options.body || options.output != "-") {
    fmt::print("{}\n", result.id.to_string());
    if (result.blocked != 0) fmt::print("blocked up to generation {}\n", result.blocked);
  }
  return kExitOk;
}

int show_list(const DiscoverOptions& options, const blob::DiscoverResult& result) {
  if (!options.target.json) {
    for (const blob::RangeFound& found : result.blobs) fmt::print("{}\n", found.id.to_string());
    if (result.blocked != 0) fmt::print("blocked up to generation {}\n", result.blocked);
    return kExitOk;
  }
  Json json;
  json.object().field("status", to_string(result.status));
  json.field("blocked_generation", result.blocked).key("blobs").array();
  for (const blob::RangeFound& found : result.blobs) {
    json.object().field("id", found.id.to_string());
    if (options.body) json.field("data_base64", base64(found.data));
    json.end();
  }
  fmt::print("{}\n", json.end().end().take());
  return kExitOk;
}

Task<int> discover(BlobTarget target, const DiscoverOptions& options) {
  blob::DiscoverRequest request;
  request.tablet = {options.tablet};
  request.min_generation = options.min_generation;
  request.force_blocked_generation = options.force_block;
  request.list = options.list;
  request.read_body = options.body;
  request.discover_blocked = true;
  request.deadline = target.deadline;
  const blob::DiscoverResult result = co_await target.proxy.discover(request);
  if (result.status != blob::Status::kOk) {
    const bool none = result.status == blob::Status::kNoData && result.reason.empty();
    co_return report(result.status, none ? "the tablet has no blob in channel 0" : result.reason);
  }
  co_return options.list ? show_list(options, result) : show(options, result);
}

}  // namespace

int run_blob_discover(const DiscoverOptions& options) {
  if (options.tablet == 0) return report(kExitUsage, "tablet 0 is no tablet");
  if (options.list && options.body && (!options.target.json || options.output != "-")) {
    return report(kExitUsage, "--list --body needs --json and goes to standard output");
  }
  if (const auto fine = check_output(options.output); options.body && !fine) {
    return report(kExitUsage, fine.error());
  }
  if (options.force_block != 0) {
    const auto refused = refuse_unconfirmed(options.yes, "blob discover --force-block",
                                            "fences its running leader", options.tablet);
    if (refused) return *refused;
  }
  return run_on_target(options.target,
                       [&](BlobTarget target) { return discover(target, options); });
}

}  // namespace moraine::app

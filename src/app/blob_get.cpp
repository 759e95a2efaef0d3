// moraine blob get ID
#include <fmt/format.h>

#include "app/blob_client.h"
#include "app/exit_code.h"
#include "base/json.h"
#include "cluster/local/files.h"

namespace moraine::app {
namespace {

int show(const GetOptions& options, const blob::GetItem& item) {
  const bool to_file = options.output != "-";
  if (to_file || !options.target.json) {
    const auto written = write_bytes(options.output, item.data);
    if (!written) return report(written.error());
  }
  if (options.target.json) {
    Json json;
    json.object().field("status", to_string(item.status)).field("id", item.id.to_string());
    json.field("offset", item.shift).field("size", item.data.size());
    json.field("keep", item.keep).field("do_not_keep", item.do_not_keep);
    if (to_file) {
      json.field("output", options.output);
    } else {
      json.field("data_base64", base64(item.data));
    }
    fmt::print("{}\n", json.end().take());
  }
  return kExitOk;
}

Task<int> get(BlobTarget target, const GetOptions& options, blob::BlobId id) {
  blob::GetRequest request;
  request.queries.push_back({id, options.offset, options.size});
  request.must_restore = options.must_restore;
  request.deadline = target.deadline;
  const blob::GetResult result = co_await target.proxy.get(std::move(request));
  const bool answered = result.status == blob::Status::kOk && result.items.size() == 1;
  const blob::Status status = answered ? result.items.front().status : result.status;
  if (status != blob::Status::kOk) {
    const std::string reason = !result.reason.empty()            ? result.reason
                               : status == blob::Status::kNoData ? "there is no such blob"
                                                                 : "";
    co_return report(status, reason);
  }
  co_return show(options, result.items.front());
}

}  // namespace

int run_blob_get(const GetOptions& options) {
  const auto id = parse_id(options.id);
  if (!id) return report(kExitUsage, id.error());
  if (options.offset >= id->size()) {
    return report(kExitUsage,
                  fmt::format("offset {} is past the end of {}", options.offset, id->to_string()));
  }
  if (const auto fine = check_output(options.output); !fine) {
    return report(kExitUsage, fine.error());
  }
  return run_on_target(options.target,
                       [&](BlobTarget target) { return get(target, options, *id); });
}

}  // namespace moraine::app

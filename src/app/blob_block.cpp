// moraine blob block TABLET GENERATION
#include <fmt/format.h>

#include "app/blob_client.h"
#include "app/exit_code.h"
#include "app/tablet_guard.h"
#include "base/json.h"

namespace moraine::app {
namespace {

void show(const BlockOptions& options, blob::Generation blocked) {
  if (options.target.json) {
    Json json;
    json.object().field("status", "OK").field("tablet", options.tablet);
    json.field("blocked_generation", blocked).end();
    fmt::print("{}\n", json.take());
  } else if (blocked == 0) {
    fmt::print("tablet {} is not blocked\n", options.tablet);
  } else {
    fmt::print("tablet {} is blocked up to generation {}\n", options.tablet, blocked);
  }
}

Task<int> show_block(BlobTarget target, const BlockOptions& options) {
  const blob::GetBlockRequest request{{options.tablet}, target.deadline};
  const blob::GetBlockResult result = co_await target.proxy.blocked_generation(request);
  if (result.status != blob::Status::kOk) {
    co_return report(result.status, result.reason);
  }
  show(options, result.blocked);
  co_return kExitOk;
}

Task<int> block(BlobTarget target, const BlockOptions& options) {
  blob::BlockRequest request;
  request.tablet = {options.tablet};
  request.generation = options.generation;
  request.deadline = target.deadline;
  const blob::BlockResult result = co_await target.proxy.block(request);
  if (result.status != blob::Status::kOk) {
    co_return report(result.status, result.reason);
  }
  show(options, request.blocked());
  co_return kExitOk;
}

}  // namespace

int run_blob_block(const BlockOptions& options) {
  if (options.tablet == 0) return report(kExitUsage, "tablet 0 is no tablet");
  if (!options.show && options.generation == 0) {
    return report(kExitUsage, "GENERATION is missing or 0; --show asks what is blocked");
  }
  if (!options.show) {
    const bool for_ever = options.generation >= blob::kGenerationMax - 1;
    const auto refused = refuse_unconfirmed(
        options.yes, "blob block",
        for_ever ? "fences it for ever, so that all of that is lost"
                 : "fences its running leader, which ends and has to be started again",
        options.tablet);
    if (refused) return *refused;
  }
  return run_on_target(options.target, [&](BlobTarget target) {
    return options.show ? show_block(target, options) : block(target, options);
  });
}

}  // namespace moraine::app

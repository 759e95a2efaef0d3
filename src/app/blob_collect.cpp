// moraine blob collect TABLET CHANNEL
#include <fmt/format.h>

#include <charconv>

#include "app/blob_client.h"
#include "app/exit_code.h"
#include "app/tablet_guard.h"
#include "base/json.h"

namespace moraine::app {
namespace {

Task<int> collect(BlobTarget target, const CollectOptions& options, blob::CollectRequest request) {
  request.deadline = target.deadline;
  const blob::CollectResult result = co_await target.proxy.collect(std::move(request));
  if (result.status != blob::Status::kOk) {
    co_return report(result.status, result.reason);
  }
  const std::uint64_t next = std::uint64_t{options.counter} + result.counters_used;
  if (options.target.json) {
    Json json;
    json.object().field("status", "OK").field("counters_used", result.counters_used);
    json.field("next_counter", next).end();
    fmt::print("{}\n", json.take());
  } else {
    fmt::print("collected; the next counter of generation {} is {}\n", options.generation, next);
  }
  co_return kExitOk;
}

Result<blob::GenStep> parse_barrier(std::string_view text) {
  blob::GenStep barrier;
  const char* const end = text.end();
  const auto generation = std::from_chars(text.begin(), end, barrier.generation);
  if (generation.ec == std::errc{} && generation.ptr != end && *generation.ptr == ':') {
    const auto step = std::from_chars(generation.ptr + 1, end, barrier.step);
    if (step.ec == std::errc{} && step.ptr == end) return barrier;
  }
  return fail(Errc::kInvalidArgument, fmt::format("barrier '{}' is not GENERATION:STEP", text));
}

Result<std::vector<blob::BlobId>> parse_ids(const std::vector<std::string>& texts,
                                            const CollectOptions& options) {
  std::vector<blob::BlobId> ids;
  for (const std::string& text : texts) {
    TRY(const blob::BlobId id, parse_id(text));
    if (id.tablet().value != options.tablet || id.channel() != options.channel || id.part() != 0) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("{} is no blob of tablet {} channel {}", id.to_string(),
                              options.tablet, options.channel));
    }
    ids.push_back(id);
  }
  return ids;
}

Result<blob::CollectRequest> request_of(const CollectOptions& options) {
  blob::CollectRequest request;
  request.tablet = {options.tablet};
  request.channel = static_cast<blob::Channel>(options.channel);
  request.record_generation = options.generation;
  request.counter = options.counter;
  request.hard = options.hard;
  if (!options.barrier.empty()) {
    TRY(const blob::GenStep barrier, parse_barrier(options.barrier));
    request.barrier = barrier;
  }
  TRY(request.keep, parse_ids(options.keep, options));
  TRY(request.do_not_keep, parse_ids(options.do_not_keep, options));
  if (!request.barrier && request.keep.empty() && request.do_not_keep.empty()) {
    return fail(Errc::kInvalidArgument, "give --barrier, --keep or --do-not-keep");
  }
  if (options.hard && !request.barrier) {
    return fail(Errc::kInvalidArgument, "--hard needs --barrier");
  }
  return request;
}

}  // namespace

int run_blob_collect(const CollectOptions& options) {
  if (options.tablet == 0) return report(kExitUsage, "tablet 0 is no tablet");
  const auto request = request_of(options);
  if (!request) return report(kExitUsage, request.error());
  const auto refused =
      refuse_unconfirmed(options.yes, options.hard ? "blob collect --hard" : "blob collect",
                         "deletes blobs that it needs, and what they hold is lost", options.tablet);
  if (refused) return *refused;
  return run_on_target(options.target,
                       [&](BlobTarget target) { return collect(target, options, *request); });
}

}  // namespace moraine::app

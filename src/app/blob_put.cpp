// moraine blob put ID FILE
#include <fmt/format.h>

#include <cstdio>

#include "app/blob_client.h"
#include "app/exit_code.h"
#include "app/tablet_guard.h"
#include "base/json.h"
#include "cluster/local/files.h"

namespace moraine::app {
namespace {

Task<int> put(BlobTarget target, const PutOptions& options, blob::BlobId id, Slice data) {
  blob::PutRequest request;
  request.id = id;
  request.data = std::move(data);
  request.deadline = target.deadline;
  const blob::PutResult result = co_await target.proxy.put(std::move(request));
  if (result.status != blob::Status::kOk) {
    co_return report(result.status, result.reason);
  }
  if (options.target.json) {
    Json json;
    json.object().field("status", to_string(result.status)).field("id", id.to_string());
    json.field("size", id.size()).field("colour", to_string(result.colour));
    json.field("beyond_barrier", result.beyond_barrier).end();
    fmt::print("{}\n", json.take());
  } else {
    fmt::print("{}\n", id.to_string());
  }
  if (result.beyond_barrier) {
    fmt::print(stderr,
               "moraine: the blob is at or below a barrier: it is garbage and not readable\n");
  }
  co_return kExitOk;
}

// With auto_size the id takes its size from the bytes.
Result<blob::BlobId> id_for(const PutOptions& options, const Slice& data) {
  TRY(blob::BlobId id, parse_id(options.id));
  if (options.auto_size && data.size() <= blob::kBlobSizeMax) {
    id = blob::BlobId(id.tablet(), id.generation(), id.step(), id.channel(),
                      static_cast<std::uint32_t>(data.size()), id.cookie());
  }
  TRY_VOID(check_puttable(id, data.size()));
  return id;
}

}  // namespace

int run_blob_put(const PutOptions& options) {
  // A wrong id is reported before standard input is read.
  const auto given = parse_id(options.id);
  if (!given) return report(kExitUsage, given.error());
  const auto refused =
      refuse_unconfirmed(options.yes, "blob put", "writes a blob that its leader did not write",
                         given->tablet().value);
  if (refused) return *refused;
  auto data = read_bytes(options.file, blob::kBlobSizeMax);
  if (!data) return report(kExitUsage, data.error());
  const auto id = id_for(options, *data);
  if (!id) return report(kExitUsage, id.error());
  return run_on_target(options.target,
                       [&](BlobTarget target) { return put(target, options, *id, *data); });
}

}  // namespace moraine::app

#include "table/tablet/read/group_blob_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine::table {
namespace {

Errc code_of(blob::Status status, bool damaged) {
  if (status == blob::Status::kNoData) return Errc::kNotFound;
  return damaged ? Errc::kCorrupt : Errc::kUnavailable;
}

}  // namespace

const TabletInfo* GroupBlobReader::info_of(TabletId tablet) const {
  if (tablet == info_.id) return &info_;
  const auto found = std::ranges::find(others_, tablet, &TabletInfo::id);
  return found == others_.end() ? nullptr : &*found;
}

Task<Result<Slice>> GroupBlobReader::read(BlobId id, std::uint32_t offset, std::uint32_t size) {
  const TabletInfo* const known = info_of(id.tablet());
  if (id.channel() >= (known == nullptr ? info_ : *known).channels.size()) {
    co_return fail(Errc::kCorrupt, fmt::format("{}: no such channel", id.to_string()));
  }
  if (known != nullptr) {
    co_return co_await read_from(known->group(id.channel(), id.generation()), id, offset, size);
  }
  Result<Slice> found = fail(Errc::kNotFound, id.to_string());
  for (const GroupId group : info_.groups(id.channel())) {
    found = co_await read_from(group, id, offset, size);
    if (found || found.error().code != Errc::kNotFound) break;
  }
  co_return found;
}

void GroupBlobReader::locate(const BlobId& id, OnPlace found) {
  const TabletInfo* const known = info_of(id.tablet());
  if (id.channel() >= (known == nullptr ? info_ : *known).channels.size()) return;
  if (known != nullptr) {
    groups_.locate(known->group(id.channel(), id.generation()), id, std::move(found));
    return;
  }
  for (const GroupId group : info_.groups(id.channel())) groups_.locate(group, id, found);
}

Task<Result<Slice>> GroupBlobReader::read_from(GroupId group, BlobId id, std::uint32_t offset,
                                               std::uint32_t size) {
  blob::Proxy* proxy = groups_.group(group);
  if (proxy == nullptr) {
    co_return fail(Errc::kNotFound, fmt::format("{}: no group {:x}", id.to_string(), group.value));
  }
  blob::GetRequest request;
  request.queries.push_back({id, offset, size});
  request.deadline = executor_.now() + timeout_;
  auto answer = co_await proxy->get(std::move(request));
  const bool answered = answer.items.size() == 1;
  const blob::Status status = answered ? answer.items[0].status : answer.status;
  if (answered && status == blob::Status::kOk) {
    if (size != 0 && answer.items[0].data.size() != size) {
      co_return fail(Errc::kCorrupt,
                     fmt::format("{}: {} bytes at {} of {} asked for", id.to_string(),
                                 answer.items[0].data.size(), offset, size));
    }
    co_return std::move(answer.items[0].data);
  }
  co_return fail(code_of(status, answered && answer.items[0].damaged),
                 fmt::format("{}: {} {}", id.to_string(), to_string(status), answer.reason));
}

}  // namespace moraine::table

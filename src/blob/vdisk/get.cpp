// Reading parts.

#include <algorithm>
#include <bit>

#include "blob/vdisk/vdisk.h"

namespace moraine::blob {
namespace {

// How many queries to read at once: bounded in number and in bytes.
std::size_t read_batch_size(std::span<const PartQuery> queries) {
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  while (count < queries.size() && count < kReadsPerGetMax && bytes < kGetReplyBytesMax) {
    const PartQuery& query = queries[count++];
    bytes += query.size != 0 ? query.size : query.id.size();
  }
  return count;
}

}  // namespace

Task<DiskReply> VDisk::on(GetParts request) {
  if (request.queries.size() > kPartQueriesMax) {
    co_return reply(Status::kError, fmt::format("{} queries, at most {} are allowed",
                                                request.queries.size(), kPartQueriesMax));
  }
  if (request.reader) {
    const std::vector<TabletGeneration> reader{*request.reader};
    if (auto refused = co_await check_fences(reader)) co_return std::move(*refused);
  }
  if (request.force_block) {
    if (auto refused = co_await force_block(request.force_block)) co_return std::move(*refused);
  }

  GetPartsReply got;
  std::uint64_t bytes = 0;
  std::size_t done = 0;
  // Batches of queries run concurrently; answers are kept in the order of the queries.
  while (done < request.queries.size() && bytes < kGetReplyBytesMax / 2) {
    const std::size_t batch = read_batch_size(std::span(request.queries).subspan(done));
    std::vector<std::vector<PartAnswer>> answers(batch);
    if (request.queries.size() == 1) {
      co_await answer(request.queries[0], 0, request.index_only, answers[0]);
    } else {
      TaskScope reads;
      for (std::size_t i = 0; i < batch; ++i) {
        const auto number = static_cast<std::uint32_t>(done + i);
        reads.spawn(answer(request.queries[done + i], number, request.index_only, answers[i]));
      }
      co_await reads.join();
    }
    for (std::vector<PartAnswer>& list : answers) {
      std::uint64_t list_bytes = 0;
      for (const PartAnswer& one : list) list_bytes += one.data.size();
      if (!got.answers.empty() && bytes + list_bytes > kGetReplyBytesMax) break;
      bytes += list_bytes;
      ++done;
      for (PartAnswer& one : list) got.answers.push_back(std::move(one));
    }
  }
  got.truncated = done < request.queries.size();
  DiskReply answered = reply(Status::kOk);
  answered.body = std::move(got);
  co_return answered;
}

// What this disk knows about the blob. For garbage: every part that this disk may have had, so that
// facts of other disks about it do not make the answer look out of date.
Ingress VDisk::own_ingress(const BlobId& id) const {
  const BlobEntry* entry = state_.index().find(id);
  const Ingress known = entry ? entry->ingress : Ingress{};
  const int slot = state_.own_slot(id);
  if (slot < 0 || state_.barriers().keeps(id, known)) return known;
  Ingress had;
  for (std::uint32_t part = 1; part <= state_.geometry().parts(); ++part) {
    const auto own = static_cast<std::uint32_t>(slot);
    if (!state_.geometry().allowed(own, part)) continue;
    had.bits |= present_bit(state_.geometry(), own, part);
  }
  return had;
}

// One answer per local part of the query, or a single one with the reason why there is none.
Task<void> VDisk::answer(const PartQuery& query, std::uint32_t number, bool index_only,
                         std::vector<PartAnswer>& answers) {
  const BlobId id = query.id.whole();
  const BlobEntry* entry = state_.index().find(id);
  PartAnswer base;
  base.query = number;
  base.part = query.id.part();
  base.status = Status::kNoData;
  if (!entry || !state_.kept(id, *entry)) {
    base.ingress = own_ingress(id);
    answers.push_back(std::move(base));
    co_return;
  }
  base.ingress = entry->ingress;
  std::uint8_t parts = 0xff;
  if (query.id.part() != 0) parts = static_cast<std::uint8_t>(1u << (query.id.part() - 1));
  // The entry itself has one local part; mostly it is the one requested.
  const bool here = entry->part != 0 && entry->part == query.id.part();
  if (!here) parts &= state_.index().local_parts(id);
  if (parts == 0) {
    const std::uint8_t claimed = state_.missing_parts(id, *entry).claimed;
    const bool should =
        query.id.part() == 0 ? claimed != 0 : (claimed >> (query.id.part() - 1) & 1) != 0;
    if (should) base.status = Status::kNotYet;
    answers.push_back(std::move(base));
    co_return;
  }
  for (; parts != 0; parts &= static_cast<std::uint8_t>(parts - 1)) {
    PartAnswer one = base;
    one.part = static_cast<std::uint32_t>(std::countr_zero(parts)) + 1;
    if (entry && entry->corrupted && entry->part == one.part) {
      one.status = Status::kCorrupted;
    } else if (index_only) {
      one.status = Status::kOk;
    } else {
      co_await answer_part(id.with_part(one.part), query.shift, query.size, one);
      if ((parts & (parts - 1)) != 0) entry = state_.index().find(id);  // It may have moved.
    }
    answers.push_back(std::move(one));
  }
}

Task<void> VDisk::answer_part(BlobId id, std::uint32_t shift, std::uint32_t size,
                              PartAnswer& answer) {
  const auto location = state_.index().locate(id);
  if (!location) {
    // It was moved to its main, or collected, while other parts were read.
    answer.ingress = own_ingress(id.whole());
    co_return;
  }
  if (shift >= location->size || size > location->size - shift) {
    answer.status = Status::kError;
    co_return;
  }
  auto data = co_await read_part(id, *location, shift, size == 0 ? location->size - shift : size);
  if (data) {
    answer.status = Status::kOk;
    answer.data = std::move(*data);
    co_return;
  }
  const bool corrupted = data.error().code == Errc::kCorrupt;
  answer.status = corrupted ? Status::kCorrupted : Status::kError;
  // It may have been moved or collected during the read.
  if (!corrupted || state_.index().locate(id) != location) co_return;
  state_.mark_corrupted(id);
  events_.damaged(id, data.error().context);
}

Task<Result<Slice>> VDisk::read_part(BlobId id, Location location, std::uint32_t shift,
                                     std::uint32_t size) {
  if (options_.cache_bytes > 0) {
    if (Slice cached = cache_.find(id); !cached.empty()) co_return cached.sub(shift, size);
  }
  auto data = co_await device_.read(location, shift, size);
  if (!data && data.error().code == Errc::kCorrupt && has_bug(SeededBug::kSkipChecksum)) {
    co_return Buffer::zeroed(size).freeze();
  }
  if (data && size == location.size) cache_.insert(id, *data);
  co_return data;
}

std::optional<DirectPlace> VDisk::locate(const BlobId& id) const {
  if (phase_ != Phase::kReady || stopping_ || !alone()) return std::nullopt;
  const BlobId whole = id.whole();
  const BlobEntry* entry = state_.index().find(whole);
  if (!entry || entry->corrupted || !state_.kept(whole, *entry)) return std::nullopt;
  const auto location = state_.index().locate(whole.with_part(1));
  if (!location || location->size != id.size()) return std::nullopt;
  return device_.place(*location);
}

}  // namespace moraine::blob

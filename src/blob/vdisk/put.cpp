// Storing parts.

#include "blob/vdisk/vdisk.h"

namespace moraine::blob {

std::optional<DiskReply> VDisk::refuse_put(const PutPart& request) const {
  const BlobId& id = request.id;
  const Geometry& geometry = state_.geometry();
  const int slot = state_.own_slot(id);
  if (id.tablet().value == 0 || id.size() == 0 || id.size() > kBlobSizeMax) {
    return reply(Status::kError, fmt::format("{} has an invalid tablet or size", id.to_string()));
  }
  if (id.part() == 0 || id.part() > geometry.parts() || slot < 0 ||
      !geometry.allowed(static_cast<std::uint32_t>(slot), id.part())) {
    return reply(Status::kError, fmt::format("{} does not belong on this disk", id.to_string()));
  }
  const std::uint32_t expected = stored_part_size(geometry.species(), id.size());
  if (request.data.size() != expected) {
    return reply(Status::kError, fmt::format("{} needs {} bytes, the request has {}",
                                             id.to_string(), expected, request.data.size()));
  }
  if (request.data.size() > device_.data_size_max()) {
    return reply(Status::kError, fmt::format("segments of {} hold at most {} bytes", device_.path(),
                                             device_.data_size_max()));
  }
  // Restores are accepted while anything at all may be written. So is the first entry of a tablet's
  // incarnation, like its block: a tablet that cannot start cannot free space.
  const bool starts = id.channel() == 0 && id.step() == 0;
  const Colour limit = request.ignore_block || starts ? Colour::kRed : Colour::kPreOrange;
  if (device_.colour() >= limit) {
    return reply(Status::kOutOfSpace,
                 fmt::format("{} is {}", device_.path(), to_string(device_.colour())));
  }
  return std::nullopt;
}

// Two blobs may not differ only in their size. Restores write what was stored before.
std::optional<DiskReply> VDisk::refuse_other_size(const PutPart& request) const {
  if (request.ignore_block) return std::nullopt;
  for (const BlobId& other : state_.index().other_sizes(request.id)) {
    const BlobEntry& entry = *state_.index().find(other);
    const bool stored = entry.part != 0 || layout_of(state_.geometry(), entry.ingress).slots() != 0;
    if (!stored || !state_.kept(other, entry)) continue;
    DiskReply refused =
        reply(Status::kError, fmt::format("{} is already stored with another size: {}",
                                          request.id.whole().to_string(), other.to_string()));
    refused.body = PutPartReply{.other_size = true};
    return refused;
  }
  return std::nullopt;
}

Task<DiskReply> VDisk::on(PutPart request) {
  if (auto refused = refuse_put(request)) co_return std::move(*refused);
  if (!request.ignore_block && !has_bug(SeededBug::kIgnoreBlockOnPut)) {
    request.extra_blocks.push_back({request.id.tablet(), request.id.generation()});
    if (auto refused = co_await check_fences(request.extra_blocks)) co_return std::move(*refused);
  }
  const BlobEntry* entry = state_.index().find(request.id.whole());
  const bool here = entry && !entry->corrupted && state_.index().locate(request.id);
  // A part that is stored here may be put again, whatever was stored at the same time.
  if (!here) {
    if (auto refused = refuse_other_size(request)) co_return std::move(*refused);
  }
  PutPartReply stored;
  if (!state_.barriers().keeps(request.id.whole(), entry ? entry->ingress : Ingress{})) {
    stored.beyond_barrier = true;
  } else if (!here) {
    if (has_bug(SeededBug::kAckBeforeSync)) {
      scope_.spawn(store_unawaited(request.id, request.data));
    } else {
      const auto written =
          co_await store_part(request.id, std::move(request.data), true, AppendClass::kOrdinary);
      if (!written) {
        const bool full = written.error().code == Errc::kNoSpace;
        co_return reply(full ? Status::kOutOfSpace : Status::kError, written.error().message());
      }
    }
    // Of two concurrent writes the one that became durable first is stored.
    if (auto refused = refuse_other_size(request)) co_return std::move(*refused);
  }
  DiskReply answer = reply(Status::kOk);
  answer.body = stored;
  co_return answer;
}

Task<void> VDisk::store_unawaited(BlobId id, ByteChain data) {
  (void)co_await store_part(id, std::move(data), true, AppendClass::kOrdinary);
}

// Appends the part and adds it to the index. `publish`: the neighbours learn that it is stored
// here.
Task<Result<void>> VDisk::store_part(BlobId id, ByteChain data, bool publish,
                                     AppendClass append_class) {
  const auto slot = static_cast<std::uint32_t>(state_.own_slot(id));
  PutRecord record{id, Ingress{present_bit(state_.geometry(), slot, id.part())},
                   publish ? next_lsn_++ : 0};
  SmallBytes header = encode_put(record);
  const auto before = state_.index().locate(id);
  CO_TRY(const Location location,
         co_await device_.append(slot_, static_cast<std::uint8_t>(RecordKind::kPut),
                                 std::move(header), std::move(data), append_class));
  if (!publish && state_.index().locate(id) != before) {
    // Collected or replaced while it was being moved.
    device_.segments().drop_live(location);
    co_return Result<void>();
  }
  state_.apply_put(record, location, true);
  events_.stored(id);
  schedule_collection();
  co_return Result<void>();
}

}  // namespace moraine::blob

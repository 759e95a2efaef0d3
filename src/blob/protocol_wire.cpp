#include "blob/protocol_wire.h"

namespace moraine::blob::wire {

void WireReader::flag(bool& value) {
  const std::uint8_t code = header_.u8();
  if (code > 1) wrong(fmt::format("flag {} is neither 0 nor 1", code));
  value = code == 1;
}

void WireReader::blob_id(BlobId& id) {
  const ByteSpan bytes = header_.raw(kBlobIdBytes);
  if (bytes.size() == kBlobIdBytes) id = BlobId::decode(bytes.data());
}

void WireReader::part_id(BlobId& id, std::uint32_t part_min, std::uint32_t part_max) {
  blob_id(id);
  if (failed()) return;
  if (id.part() < part_min || id.part() > part_max) {
    wrong(fmt::format("part of {} is not in {}..{}", id.to_string(), part_min, part_max));
  }
}

void WireReader::text(std::string& value, std::string_view name, std::size_t size_max) {
  value = as_text(sized(name, size_max));
}

void WireReader::bytes(Slice& value, std::string_view name, std::size_t size_max) {
  const ByteSpan read = sized(name, size_max);
  if (!read.empty()) value = Slice::copy_of(read);
}

void WireReader::bulk(Slice& value, std::string_view name, std::size_t size_max) {
  const std::uint32_t size = header_.u32();
  if (failed()) return;
  if (size > size_max) {
    return wrong(fmt::format("{} of {} bytes, over the maximum {}", name, size, size_max));
  }
  const std::size_t left = bulk_.size() - bulk_read_;
  if (size > left) {
    return wrong(fmt::format("{} of {} bytes, but only {} are left", name, size, left));
  }
  if (size > 0) value = bulk_.sub(bulk_read_, size);
  bulk_read_ += size;
}

void WireReader::config(GroupConfig& value) {
  const ByteSpan encoded = header_.sized();
  if (failed()) return;
  auto config = GroupConfig::decode(encoded);
  if (!config) return wrong(std::move(config.error().context));
  value = std::move(*config);
}

void WireReader::wrong(std::string problem) {
  if (!failed()) problem_ = std::move(problem);
}

std::size_t WireReader::counted(std::string_view name, std::size_t count_max,
                                std::size_t item_bytes_min) {
  const std::uint32_t count = header_.u32();
  if (failed()) return 0;
  if (count > count_max) {
    wrong(fmt::format("{} {}, over the maximum {}", count, name, count_max));
    return 0;
  }
  if (count > header_.remaining() / item_bytes_min) {
    wrong(fmt::format("{} {} in {} bytes", count, name, header_.remaining()));
    return 0;
  }
  return count;
}

ByteSpan WireReader::sized(std::string_view name, std::size_t size_max) {
  const std::uint32_t size = header_.u32();
  if (!failed() && size > size_max) {
    wrong(fmt::format("{} of {} bytes, over the maximum {}", name, size, size_max));
  }
  return failed() ? ByteSpan{} : header_.raw(size);
}

Result<void> WireReader::finish() {
  if (!problem_.empty()) return fail(Errc::kCorrupt, std::move(problem_));
  if (header_.failed()) return fail(Errc::kCorrupt, "the header is truncated");
  if (header_.remaining() > 0) {
    return fail(Errc::kCorrupt,
                fmt::format("{} bytes too many in the header", header_.remaining()));
  }
  if (bulk_read_ != bulk_.size()) {
    return fail(Errc::kCorrupt,
                fmt::format("{} bytes too many after the header", bulk_.size() - bulk_read_));
  }
  return {};
}

}  // namespace moraine::blob::wire

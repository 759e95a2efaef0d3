#include "gateway/kafka/protocol/field_reader.h"

#include <algorithm>

namespace moraine::kafka {

std::int64_t FieldReader::length(std::size_t unit_bytes_min) {
  const std::int64_t length =
      flexible_ ? std::int64_t{from_.uvarint()} - 1 : std::int64_t{from_.fixed<std::int32_t>()};
  if (from_.failed()) return 0;
  if (length < -1) {
    from_.wrong("a length is negative");
    return 0;
  }
  if (length > static_cast<std::int64_t>(from_.remaining() / unit_bytes_min)) {
    from_.wrong("a length is more than what is left");
    return 0;
  }
  return length;
}

std::optional<ByteSpan> FieldReader::text() {
  const std::int64_t length =
      flexible_ ? std::int64_t{from_.uvarint()} - 1 : std::int64_t{from_.fixed<std::int16_t>()};
  if (from_.failed()) return ByteSpan{};
  if (length == -1) return std::nullopt;
  if (length < 0 || length > static_cast<std::int64_t>(kStringBytesMax)) {
    from_.wrong("a string's length is out of range");
    return ByteSpan{};
  }
  return from_.raw(static_cast<std::size_t>(length));
}

void FieldReader::value(Uuid& field) {
  const ByteSpan bytes = from_.raw(field.bytes.size());
  std::ranges::copy(bytes, field.bytes.begin());
}

void FieldReader::value(std::string& field) {
  const auto read = text();
  if (!read) return from_.wrong("a string is null");
  if (measured_ != nullptr) return void(measured_->text_bytes += read->size());
  field = as_text(*read);
}

void FieldReader::value(std::optional<std::string>& field) {
  const auto read = text();
  field.reset();
  if (!read) return;
  if (measured_ != nullptr) measured_->text_bytes += read->size();
  field.emplace(measured_ != nullptr ? std::string_view() : as_text(*read));
}

void FieldReader::value(Slice& field) {
  std::optional<Slice> read;
  value(read);
  if (!read) return from_.wrong("bytes are null");
  field = std::move(*read);
}

void FieldReader::value(std::optional<Slice>& field) {
  const std::int64_t size = length(1);
  field.reset();
  if (size < 0) return;
  const ByteSpan bytes = from_.raw(static_cast<std::size_t>(size));
  if (measured_ != nullptr) measured_->opaque_bytes += bytes.size();
  field = measured_ != nullptr ? Slice() : Slice::copy_of(bytes);
}

void FieldReader::value(Records& field) {
  const std::int64_t size = length(1);
  field.slices.clear();
  field.is_null = size < 0;
  if (size <= 0) return;
  const std::size_t at = from_.position();
  const ByteSpan bytes = from_.raw(static_cast<std::size_t>(size));
  if (!bytes.empty()) field.slices.push_back(input_.sub(at, bytes.size()));
}

void FieldReader::tag_section(const TaggedFields& known) {
  const std::uint32_t count = from_.uvarint();
  for (std::uint32_t i = 0; i < count && !from_.failed(); ++i) {
    const std::uint32_t tag = from_.uvarint();
    const std::uint32_t size = from_.uvarint();
    const auto* const end = known.items.begin() + known.count;
    const auto* const found =
        std::find_if(known.items.begin(), end, [&](const Tagged& item) { return item.tag == tag; });
    if (found == end) {
      from_.raw(size);
      continue;
    }
    const std::size_t outer_end = from_.narrow(size);
    found->read(*this, found->field);
    if (!from_.failed() && from_.remaining() > 0) from_.wrong("a tagged field is too long");
    from_.widen(outer_end);
  }
}

}  // namespace moraine::kafka

#include "gateway/kafka/protocol/field_writer.h"

#include <limits>

#include "base/invariant.h"

namespace moraine::kafka {

void FieldWriter::length(std::int64_t length) {
  INVARIANT(length >= -1 && length <= std::numeric_limits<std::int32_t>::max() - 1,
            "a field of {} bytes or elements", length);
  if (flexible_) return to_.uvarint(static_cast<std::uint32_t>(length + 1));
  to_.fixed(static_cast<std::int32_t>(length));
}

void FieldWriter::value(const std::string& field) {
  const auto text = std::string_view(field).substr(0, kStringBytesMax);
  if (flexible_) {
    to_.uvarint(static_cast<std::uint32_t>(text.size() + 1));
  } else {
    to_.fixed(static_cast<std::int16_t>(text.size()));
  }
  to_.raw(as_bytes(text));
}

void FieldWriter::value(const std::optional<std::string>& field) {
  if (field) return value(*field);
  if (flexible_) return to_.uvarint(0);
  to_.fixed(std::int16_t{-1});
}

void FieldWriter::value(const Slice& field) {
  length(static_cast<std::int64_t>(field.size()));
  to_.raw(field);
}

void FieldWriter::value(const std::optional<Slice>& field) {
  if (field) return value(*field);
  length(-1);
}

void FieldWriter::value(const Records& field) {
  if (field.is_null) return length(-1);
  length(static_cast<std::int64_t>(field.size()));
  for (const Slice& slice : field.slices) to_.shared(slice);
}

void FieldWriter::tag_section(const TaggedFields& present) {
  to_.uvarint(static_cast<std::uint32_t>(present.count));
  for (std::size_t i = 0; i < present.count; ++i) {
    const Tagged& item = present.items[i];
    Writer content;
    FieldWriter io(content, version_, flexible_);
    item.write(io, item.field);
    to_.uvarint(item.tag);
    to_.uvarint(static_cast<std::uint32_t>(content.size()));
    to_.append(content);
  }
}

}  // namespace moraine::kafka

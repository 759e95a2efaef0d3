#include "table/model/xdelta.h"

#include "base/bytes.h"
#include "base/coding.h"
#include "base/result.h"
#include "table/model/limits.h"
#include "table/model/vcdiff.h"

namespace moraine::table {
namespace {

enum Field : std::uint32_t {
  kTypeField = 1,
  kBaseHashField = 2,
  kStateHashField = 3,
  kStateSizeField = 4,
  kDataSizeField = 5,
  kErrorField = 6,
};
constexpr std::size_t kFieldsEnd = kErrorField + 1;

// Wire types of protobuf fields.
constexpr std::uint64_t kVarint = 0;
constexpr std::uint64_t kFixed64 = 1;
constexpr std::uint64_t kSized = 2;
constexpr std::uint64_t kFixed32 = 5;
constexpr int kTagTypeBits = 3;
constexpr std::uint64_t kTagTypeMask = (1U << kTagTypeBits) - 1;

constexpr int kVarintBits = 64;

using Fields = std::optional<std::uint32_t>[kFieldsEnd];

// nullopt: too short, or longer than 10 bytes.
std::optional<std::uint64_t> take_varint(Decoder& in) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < kVarintBits; shift += 7) {
    const std::uint8_t byte = in.u8();
    if (in.failed()) return std::nullopt;
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

void append_varint(std::string& out, std::uint32_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void append_field(std::string& out, Field field, std::uint32_t value) {
  append_varint(out, field << kTagTypeBits);
  append_varint(out, value);
}

// An unknown enum number counts as a missing field.
bool is_known(std::uint64_t field, std::uint32_t value) {
  if (field == kTypeField) return value <= static_cast<std::uint32_t>(XdeltaType::kPatch);
  if (field == kErrorField) return value <= static_cast<std::uint32_t>(XdeltaError::kProtobuf);
  return true;
}

// False: not a protobuf message. Unknown fields are skipped.
bool read_fields(ByteSpan header, Fields& fields) {
  Decoder in(header);
  while (in.remaining() != 0) {
    const auto tag = take_varint(in);
    if (!tag || *tag >> kTagTypeBits == 0) return false;
    const std::uint64_t field = *tag >> kTagTypeBits;
    switch (*tag & kTagTypeMask) {
      case kVarint: {
        const auto value = take_varint(in);
        if (!value) return false;
        const auto number = static_cast<std::uint32_t>(*value);
        if (field < kFieldsEnd && is_known(field, number)) fields[field] = number;
        break;
      }
      case kFixed64: in.u64(); break;
      case kFixed32: in.u32(); break;
      case kSized: {
        const auto size = take_varint(in);
        if (!size) return false;
        in.raw(*size);
        break;
      }
      default: return false;
    }
    if (in.failed()) return false;
  }
  return true;
}

XdeltaState error_state(XdeltaError error) {
  return {.error = error};
}

// Whether the fields that its type requires are present.
bool is_complete(XdeltaType type, const Fields& fields) {
  switch (type) {
    case XdeltaType::kBase: return fields[kDataSizeField].has_value();
    case XdeltaType::kPatch:
      return fields[kBaseHashField] && fields[kStateHashField] && fields[kStateSizeField] &&
             fields[kDataSizeField];
    case XdeltaType::kNone: return fields[kErrorField].has_value();
  }
  return false;
}

// Two patches, neither of them empty.
XdeltaState join_patches(const XdeltaState& older, const XdeltaState& newer, TextMemory& memory) {
  auto joined = [&]() -> Result<std::string> {
    TRY(const Vcdiff earlier, decode_vcdiff(older.data));
    TRY(const Vcdiff later, decode_vcdiff(newer.data));
    // A patch whose result has another size than declared could not be applied either.
    if (earlier.pieces.size() != older.state_size || later.pieces.size() != newer.state_size) {
      return fail(Errc::kCorrupt, "sizes");
    }
    TRY(const Vcdiff both, compose_vcdiff(earlier, later));
    return encode_vcdiff(both);
  }();
  if (!joined) return error_state(XdeltaError::kMergePatches);
  return {.type = XdeltaType::kPatch,
          .base_hash = older.base_hash,
          .state_hash = newer.state_hash,
          .state_size = newer.state_size,
          .data = memory.keep(std::move(*joined))};
}

bool is_empty_and_bad(const XdeltaState& patch) {
  return patch.data.empty() && patch.base_hash != patch.state_hash;
}

XdeltaState merge_patches(const XdeltaState& older, const XdeltaState& newer, TextMemory& memory) {
  if (older.state_hash != newer.base_hash || is_empty_and_bad(older) || is_empty_and_bad(newer)) {
    return error_state(XdeltaError::kMergePatches);
  }
  if (older.data.empty()) return newer;
  if (newer.data.empty()) return older;
  return join_patches(older, newer, memory);
}

XdeltaState apply_patch(const XdeltaState& base, const XdeltaState& patch, TextMemory& memory) {
  const std::uint32_t base_hash = xdelta_hash(base.data);
  if (base_hash != patch.base_hash) return error_state(XdeltaError::kBaseHash);
  if (patch.data.empty()) {
    if (patch.state_size != base.data.size()) return error_state(XdeltaError::kStateSize);
    if (patch.state_hash != base_hash) return error_state(XdeltaError::kStateHash);
    return base;
  }
  const auto decoded = decode_vcdiff(patch.data);
  if (!decoded || decoded->pieces.size() > patch.state_size) {
    return error_state(XdeltaError::kApplyPatch);
  }
  auto state = apply_vcdiff(*decoded, base.data);
  if (!state) return error_state(XdeltaError::kApplyPatch);
  if (state->size() != patch.state_size) return error_state(XdeltaError::kStateSize);
  if (xdelta_hash(*state) != patch.state_hash) return error_state(XdeltaError::kStateHash);
  return {.type = XdeltaType::kBase, .data = memory.keep(std::move(*state))};
}

}  // namespace

std::uint32_t xdelta_hash(std::string_view text) {
  constexpr std::uint32_t kFactor = 0x5bd1e995;
  auto hash = static_cast<std::uint32_t>(text.size());
  ByteSpan bytes = as_bytes(text);
  for (; bytes.size() >= 4; bytes = bytes.subspan(4)) {
    std::uint32_t word = load<std::uint32_t>(bytes.data()) * kFactor;
    word = (word ^ word >> 24) * kFactor;
    hash = hash * kFactor ^ word;
  }
  if (!bytes.empty()) {
    std::uint32_t rest = 0;
    for (std::size_t i = bytes.size(); i > 0; --i) {
      rest = rest << 8 | std::to_integer<std::uint32_t>(bytes[i - 1]);
    }
    hash = (hash ^ rest) * kFactor;
  }
  hash = (hash ^ hash >> 13) * kFactor;
  return hash ^ hash >> 15;
}

XdeltaState read_xdelta(std::string_view bytes) {
  Decoder in(as_bytes(bytes));
  Fields fields;
  const auto header_size = take_varint(in);
  if (!header_size) return error_state(XdeltaError::kHeader);
  const ByteSpan header = in.raw(static_cast<std::uint32_t>(*header_size));
  if (in.failed() || !read_fields(header, fields)) return error_state(XdeltaError::kHeader);
  const auto type = static_cast<XdeltaType>(fields[kTypeField].value_or(0));
  if (!is_complete(type, fields)) return error_state(XdeltaError::kMissingField);
  const ByteSpan data = in.raw(fields[kDataSizeField].value_or(0));
  if (in.failed()) return error_state(XdeltaError::kDataSize);
  if (fields[kErrorField]) return error_state(static_cast<XdeltaError>(*fields[kErrorField]));
  return {.type = type,
          .base_hash = fields[kBaseHashField].value_or(0),
          .state_hash = fields[kStateHashField].value_or(0),
          .state_size = fields[kStateSizeField].value_or(0),
          .data = as_text(data)};
}

std::string write_xdelta(const XdeltaState& state) {
  std::string header;
  if (state.error) {
    append_field(header, kErrorField, static_cast<std::uint32_t>(*state.error));
  } else {
    append_field(header, kTypeField, static_cast<std::uint32_t>(state.type));
    if (state.type == XdeltaType::kPatch) {
      append_field(header, kBaseHashField, state.base_hash);
      append_field(header, kStateHashField, state.state_hash);
      append_field(header, kStateSizeField, state.state_size);
    }
    append_field(header, kDataSizeField, static_cast<std::uint32_t>(state.data.size()));
  }
  std::string out;
  append_varint(out, static_cast<std::uint32_t>(header.size()));
  out += header;
  if (!state.error) out += state.data;
  return out;
}

std::string_view merge_xdelta(std::string_view older, std::string_view newer, TextMemory& memory) {
  const XdeltaState right = read_xdelta(newer);
  if (right.error) return memory.keep(write_xdelta(right));
  if (right.type == XdeltaType::kBase) return newer;
  const XdeltaState left = read_xdelta(older);
  if (left.error) return memory.keep(write_xdelta(left));
  TextMemory parts;
  const bool patches = left.type == XdeltaType::kPatch;
  const XdeltaState merged =
      patches ? merge_patches(left, right, parts) : apply_patch(left, right, parts);
  std::string bytes = write_xdelta(merged);
  if (bytes.size() > kValueBytesMax) {
    bytes =
        write_xdelta(error_state(patches ? XdeltaError::kMergePatches : XdeltaError::kApplyPatch));
  }
  return memory.keep(std::move(bytes));
}

}  // namespace moraine::table

// WireWriter and WireReader: the two directions of one description of a message's fields.
//
//   template <class Io>
//   void fields(Io& io, Like<Io, GetBlock>& m) { io.integer(m.tablet.value); }
//
// Promise    A description used for both directions cannot write what it does not read. The reader
//            never runs past its input, allocates no more than a small multiple of it, and reports
//            the first error; after that it returns zeros.
// Invariants Bulk bytes follow the header in the order of their sizes in it. The reader returns
//            them as slices of the frame.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/byte_chain.h"
#include "base/coding.h"
#include "blob/blob_id.h"
#include "blob/group/config.h"

namespace moraine::blob::wire {

template <class Io, class T>
using Like = std::conditional_t<Io::kReads, T, const T>;

class WireWriter {
 public:
  static constexpr bool kReads = false;

  template <FixedInteger T>
  void integer(T value) {
    header_.fixed(value);
  }
  template <FixedInteger T>
  void bounded(T value, std::string_view, std::uint64_t) {
    header_.fixed(value);
  }
  template <class T>
  void choice(T value, std::string_view, bool (*)(T)) {
    header_.fixed(static_cast<std::underlying_type_t<T>>(value));
  }
  void flag(bool value) { header_.flag(value); }
  void blob_id(const BlobId& id) {
    std::byte bytes[kBlobIdBytes];
    id.encode(bytes);
    header_.raw(bytes);
  }
  void part_id(const BlobId& id, std::uint32_t, std::uint32_t) { blob_id(id); }
  // Longer text is truncated.
  void text(std::string_view value, std::string_view, std::size_t size_max) {
    header_.sized(value.substr(0, size_max));
  }
  void bytes(const Slice& value, std::string_view, std::size_t) { header_.sized(value.span()); }
  void bulk(const Slice& value, std::string_view, std::size_t) {
    header_.u32(static_cast<std::uint32_t>(value.size()));
    if (!value.empty()) bulk_.push_back(value);
  }
  void bulk(const ByteChain& value, std::string_view, std::size_t) {
    header_.u32(static_cast<std::uint32_t>(value.size()));
    value.each([this](const Slice& slice) {
      if (!slice.empty()) bulk_.push_back(slice);
    });
  }
  void config(const GroupConfig& value) { header_.sized(value.encode().span()); }
  template <class T, class Fields>
  void optional(const std::optional<T>& value, Fields each) {
    flag(value.has_value());
    if (value) each(*this, *value);
  }
  template <class T, class Fields>
  void list(const std::vector<T>& items, std::string_view, std::size_t, std::size_t, Fields each) {
    header_.u32(static_cast<std::uint32_t>(items.size()));
    for (const T& item : items) each(*this, item);
  }

  ByteSpan header() const { return header_.span(); }
  std::vector<Slice> take_bulk() && { return std::move(bulk_); }

 private:
  Encoder header_;
  std::vector<Slice> bulk_;
};

class WireReader {
 public:
  static constexpr bool kReads = true;

  // `bulk` is what follows the header in the frame.
  WireReader(ByteSpan header, Slice bulk) : header_(header), bulk_(std::move(bulk)) {}

  template <FixedInteger T>
  void integer(T& value) {
    value = header_.fixed<T>();
  }
  template <FixedInteger T>
  void bounded(T& value, std::string_view name, std::uint64_t max) {
    value = header_.fixed<T>();
    if (value > max) wrong(fmt::format("{} {} is over its maximum {}", name, value, max));
  }
  // `known` is true for values of the enumeration.
  template <class T>
  void choice(T& value, std::string_view name, bool (*known)(T)) {
    const auto code = header_.fixed<std::underlying_type_t<T>>();
    value = static_cast<T>(code);
    if (!known(value)) wrong(fmt::format("{} {} is unknown", name, code));
  }
  void flag(bool& value);
  void blob_id(BlobId& id);
  void part_id(BlobId& id, std::uint32_t part_min, std::uint32_t part_max);
  void text(std::string& value, std::string_view name, std::size_t size_max);
  void bytes(Slice& value, std::string_view name, std::size_t size_max);
  void bulk(Slice& value, std::string_view name, std::size_t size_max);
  void bulk(ByteChain& value, std::string_view name, std::size_t size_max) {
    Slice bytes;
    bulk(bytes, name, size_max);
    value = std::move(bytes);
  }
  void config(GroupConfig& value);
  template <class T, class Fields>
  void optional(std::optional<T>& value, Fields each) {
    bool present = false;
    flag(present);
    if (present) each(*this, value.emplace());
  }
  // Items take at least `item_bytes_min` each.
  template <class T, class Fields>
  void list(std::vector<T>& items, std::string_view name, std::size_t count_max,
            std::size_t item_bytes_min, Fields each) {
    const std::size_t count = counted(name, count_max, item_bytes_min);
    items.reserve(count);
    for (std::size_t i = 0; i < count && !failed(); ++i) each(*this, items.emplace_back());
  }

  // Keeps the first problem; values read after it are meaningless.
  void wrong(std::string problem);
  bool failed() const { return !problem_.empty() || header_.failed(); }
  // Header and bulk must have been read to their ends.
  Result<void> finish();

 private:
  std::size_t counted(std::string_view name, std::size_t count_max, std::size_t item_bytes_min);
  ByteSpan sized(std::string_view name, std::size_t size_max);

  Decoder header_;
  Slice bulk_;
  std::size_t bulk_read_ = 0;
  std::string problem_;
};

}  // namespace moraine::blob::wire

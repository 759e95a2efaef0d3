// FieldReader: the reading direction of one description of a message's fields; FieldWriter
// (field_writer.h) is the other.
//
//   template <class Io>
//   void fields(Io& io, Like<Io, HeartbeatResponse>& m) {
//     if (io.since(1)) io(m.throttle_time_ms);
//     io(m.error_code);
//   }
//
// Promise    A description used for both directions cannot write what it does not read. Memory
//            grows with the bytes that were read, never with a claimed count.
// Invariants Types decide the encoding: std::string is a string, std::optional of it a nullable
//            one, Slice bytes, std::vector an array, a structure its fields and, in a flexible
//            version, its tag section. Unknown tags are skipped. Bytes are copied, records share
//            the memory of the frame.
// Limits     kStringBytesMax, kElementsMax.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/invariant.h"
#include "gateway/kafka/protocol/types.h"
#include "queue/kafka/reader.h"

namespace moraine::kafka {

inline constexpr std::size_t kStringBytesMax = 32'767;
// Elements of all arrays of one message together.
inline constexpr std::size_t kElementsMax = std::size_t{1} << 18;
// Tagged fields of one structure.
inline constexpr std::size_t kTagsMax = 4;

template <class Io, class T>
using Like = std::conditional_t<Io::kReads, T, const T>;

// Least bytes of a value on the wire.
template <class T>
consteval std::size_t wire_bytes_min() {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, Uuid>) {
    return sizeof(T);
  } else {
    return 1;
  }
}

class FieldReader {
 public:
  static constexpr bool kReads = true;

  // `input` is the memory that `from` reads.
  // With `measured` nothing is stored: each element overwrites the last one, and is counted.
  FieldReader(Reader& from, const Slice& input, std::int16_t version, bool flexible,
              DecodedSize* measured = nullptr)
      : from_(from), input_(input), version_(version), flexible_(flexible), measured_(measured) {}

  bool since(int version) const { return version_ >= version; }
  bool between(int first, int last) const { return version_ >= first && version_ <= last; }

  // The next fields, in this order.
  template <class... T>
  void operator()(T&... values) {
    (value(values), ...);
  }
  // A field that may be null in later versions only; null before is a problem.
  template <class T>
  void nullable_since(int version, std::optional<T>& field) {
    value(field);
    if (!since(version) && !field) from_.wrong("a field is null where its version has no null");
  }
  // A structure behind a byte that says whether there is one: -1 is null.
  template <class T>
  void nullable_structure(std::optional<T>& field) {
    field.reset();
    if (from_.fixed<std::int8_t>() >= 0) structure(field.emplace());
  }
  // The one element of what a later version has as an array.
  template <class T>
  T& first(std::vector<T>& items) {
    items.resize(1);
    return items.front();
  }
  // A field of the structure's tag section, wherever it is listed among the fields.
  template <class T>
  void tagged(std::uint32_t tag, T& field);
  // All fields of a structure and its tag section.
  template <class T>
  void structure(T& message);

 private:
  struct Tagged {
    std::uint32_t tag;
    void* field;
    void (*read)(FieldReader&, void*);
  };
  struct TaggedFields {
    std::array<Tagged, kTagsMax> items;
    std::size_t count = 0;
  };

  template <class T>
    requires std::integral<T>
  void value(T& field) {
    field = from_.fixed<T>();
  }
  template <class T>
    requires std::is_enum_v<T>
  void value(T& field) {
    field = static_cast<T>(from_.fixed<std::underlying_type_t<T>>());
  }
  void value(double& field) { field = std::bit_cast<double>(from_.fixed<std::uint64_t>()); }
  void value(bool& field) { field = from_.fixed<std::uint8_t>() != 0; }
  void value(Uuid& field);
  void value(std::string& field);
  void value(std::optional<std::string>& field);
  void value(Slice& field);
  void value(std::optional<Slice>& field);
  void value(Records& field);
  template <class T>
  void value(std::vector<T>& field) {
    if (!array(field)) from_.wrong("an array is null");
  }
  template <class T>
  void value(std::optional<std::vector<T>>& field) {
    if (!array(field.emplace())) field.reset();
  }
  template <class T>
    requires std::is_class_v<T>
  void value(T& field) {
    structure(field);
  }

  template <class T>
  bool array(std::vector<T>& items);
  template <class T>
  static void read_tagged(FieldReader& io, void* field);

  // A length or count as it is on the wire; -1: null. Fails when it is more than what is left.
  std::int64_t length(std::size_t unit_bytes_min);
  std::optional<ByteSpan> text();
  void tag_section(const TaggedFields& known);

  Reader& from_;
  const Slice& input_;
  const std::int16_t version_;
  const bool flexible_;
  DecodedSize* const measured_;  // Null: values are stored.
  std::size_t elements_left_ = kElementsMax;
  TaggedFields* tagged_ = nullptr;  // Of the structure that is being read.
};

template <class T>
bool FieldReader::array(std::vector<T>& items) {
  items.clear();
  const std::int64_t count = length(wire_bytes_min<T>());
  if (count < 0) return false;
  if (static_cast<std::size_t>(count) > elements_left_) {
    from_.wrong("the message has too many elements");
    return true;
  }
  elements_left_ -= static_cast<std::size_t>(count);
  if (measured_ != nullptr) {
    measured_->elements += static_cast<std::size_t>(count);
    measured_->element_bytes += static_cast<std::size_t>(count) * sizeof(T);
    T element{};
    for (std::int64_t i = 0; i < count && !from_.failed(); ++i) value(element);
    return true;
  }
  for (std::int64_t i = 0; i < count && !from_.failed(); ++i) value(items.emplace_back());
  return true;
}

template <class T>
void FieldReader::structure(T& message) {
  if (!flexible_) return fields(*this, message);
  TaggedFields mine;
  TaggedFields* const outer = tagged_;
  tagged_ = &mine;
  fields(*this, message);
  tagged_ = outer;
  tag_section(mine);
}

template <class T>
void FieldReader::tagged(std::uint32_t tag, T& field) {
  if (!flexible_) return;
  INVARIANT(tagged_->count < kTagsMax, "more than {} tagged fields", kTagsMax);
  tagged_->items[tagged_->count++] = {tag, &field, &read_tagged<T>};
}

template <class T>
void FieldReader::read_tagged(FieldReader& io, void* field) {
  T& typed = *static_cast<T*>(field);
  if constexpr (requires {
                  typename T::value_type;
                  typed.has_value();
                } && !std::is_same_v<T, std::optional<std::string>>) {
    typename T::value_type present;
    io.value(present);
    typed = std::move(present);
  } else {
    io.value(typed);
  }
}

}  // namespace moraine::kafka

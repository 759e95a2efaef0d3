// FieldWriter: the writing direction of one description of a message's fields; FieldReader
// (field_reader.h) is the other and says which type has which encoding.
//
// Promise    Writing cannot fail. A value that a version cannot express is written as the nearest
//            one: null as empty where the version has no null, text truncated at kStringBytesMax.
//            Tagged fields are left out when they have their default value.
#pragma once

#include <bit>

#include "gateway/kafka/protocol/field_reader.h"
#include "queue/kafka/writer.h"

namespace moraine::kafka {

class FieldWriter {
 public:
  static constexpr bool kReads = false;

  FieldWriter(Writer& to, std::int16_t version, bool flexible)
      : to_(to), version_(version), flexible_(flexible) {}

  bool since(int version) const { return version_ >= version; }
  bool between(int first, int last) const { return version_ >= first && version_ <= last; }

  template <class... T>
  void operator()(const T&... values) {
    (value(values), ...);
  }
  template <class T>
  void nullable_since(int version, const std::optional<T>& field) {
    if (since(version)) return value(field);
    static const T kEmpty{};
    value(field ? *field : kEmpty);
  }
  template <class T>
  void nullable_structure(const std::optional<T>& field) {
    to_.fixed(static_cast<std::int8_t>(field ? 1 : -1));
    if (field) structure(*field);
  }
  // A default element when there is none.
  template <class T>
  const T& first(const std::vector<T>& items) {
    static const T kNone{};
    return items.empty() ? kNone : items.front();
  }
  template <class T>
  void tagged(std::uint32_t tag, const T& field);
  template <class T>
  void structure(const T& message);

 private:
  struct Tagged {
    std::uint32_t tag;
    const void* field;
    void (*write)(FieldWriter&, const void*);
  };
  struct TaggedFields {
    std::array<Tagged, kTagsMax> items;
    std::size_t count = 0;
  };

  template <class T>
    requires std::integral<T>
  void value(T field) {
    to_.fixed(field);
  }
  template <class T>
    requires std::is_enum_v<T>
  void value(T field) {
    to_.fixed(static_cast<std::underlying_type_t<T>>(field));
  }
  void value(double field) { to_.fixed(std::bit_cast<std::uint64_t>(field)); }
  void value(bool field) { to_.fixed(static_cast<std::uint8_t>(field ? 1 : 0)); }
  void value(const Uuid& field) { to_.raw(field.bytes); }
  void value(const std::string& field);
  void value(const std::optional<std::string>& field);
  void value(const Slice& field);
  void value(const std::optional<Slice>& field);
  void value(const Records& field);
  template <class T>
  void value(const std::vector<T>& field) {
    length(static_cast<std::int64_t>(field.size()));
    for (const T& item : field) value(item);
  }
  template <class T>
  void value(const std::optional<std::vector<T>>& field) {
    if (field) return value(*field);
    length(-1);
  }
  template <class T>
    requires std::is_class_v<T>
  void value(const T& field) {
    structure(field);
  }

  template <class T>
  static bool is_default(const T& field) {
    if constexpr (requires { field.has_value(); }) {
      return !field.has_value();
    } else if constexpr (requires { field.empty(); }) {
      return field.empty();
    } else {
      return field == T{};
    }
  }
  template <class T>
  static void write_tagged(FieldWriter& io, const void* field);

  // -1: null.
  void length(std::int64_t length);
  void tag_section(const TaggedFields& present);

  Writer& to_;
  const std::int16_t version_;
  const bool flexible_;
  TaggedFields* tagged_ = nullptr;  // Of the structure that is being written.
};

template <class T>
void FieldWriter::structure(const T& message) {
  if (!flexible_) return fields(*this, message);
  TaggedFields mine;
  TaggedFields* const outer = tagged_;
  tagged_ = &mine;
  fields(*this, message);
  tagged_ = outer;
  tag_section(mine);
}

template <class T>
void FieldWriter::tagged(std::uint32_t tag, const T& field) {
  if (!flexible_ || is_default(field)) return;
  INVARIANT(tagged_->count < kTagsMax, "more than {} tagged fields", kTagsMax);
  tagged_->items[tagged_->count++] = {tag, &field, &write_tagged<T>};
}

template <class T>
void FieldWriter::write_tagged(FieldWriter& io, const void* field) {
  const T& typed = *static_cast<const T*>(field);
  if constexpr (requires { typed.has_value(); } && !std::is_same_v<T, std::optional<std::string>>) {
    io.value(*typed);
  } else {
    io.value(typed);
  }
}

}  // namespace moraine::kafka

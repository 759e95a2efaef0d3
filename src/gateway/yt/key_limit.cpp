#include "gateway/yt/key_limit.h"

#include <fmt/format.h>

namespace moraine::yt {

YtResult<KeyLimit> KeyLimit::make(const ReadLimit& limit) {
  KeyLimit made;
  made.after_prefix_ = limit.after_prefix;
  for (const YsonNode& node : *limit.key) {
    Element element;
    const YsonNode* const type = node.attributes().find("type");
    const std::string* const sentinel = type == nullptr ? nullptr : type->as<std::string>();
    if (const auto* value = node.as<std::int64_t>())
      element.value = *value;
    else if (const auto* count = node.as<std::uint64_t>())
      element.value = *count;
    else if (const auto* number = node.as<double>())
      element.value = *number;
    else if (const auto* truth = node.as<bool>())
      element.value = *truth;
    else if (const auto* text = node.as<std::string>())
      element.value = std::string_view(*text);
    else if (!node.is_entity()) {
      return refuse(Code::kGeneric,
                    fmt::format("A value of a key cannot be of type {}", to_string(node.type())));
    }
    if (node.is_entity() && sentinel != nullptr && *sentinel == "min") element.kind = Kind::kMin;
    if (node.is_entity() && sentinel != nullptr && *sentinel == "max") element.kind = Kind::kMax;
    made.elements_.push_back(element);
  }
  return made;
}

bool KeyLimit::is_before(std::span<const Value> key) const {
  for (std::size_t i = 0; i < elements_.size(); ++i) {
    // A shorter key is less.
    if (i >= key.size()) return false;
    const Element& element = elements_[i];
    if (element.kind == Kind::kMin) return true;
    if (element.kind == Kind::kMax) return false;
    const std::strong_ordering order = compare(key[i], element.value);
    if (order != 0) return order > 0;
  }
  return !after_prefix_;
}

std::vector<Value> KeyLimit::seek(std::span<const ColumnSchema> key_columns) const {
  std::vector<Value> prefix;
  for (const Element& element : elements_) {
    if (element.kind != Kind::kValue || prefix.size() >= key_columns.size()) break;
    const ValueType type = physical_type(key_columns[prefix.size()].type);
    // Others are compared row by row.
    if (element.value.type() != type && !element.value.is_null()) break;
    prefix.push_back(element.value);
  }
  return prefix;
}

}  // namespace moraine::yt

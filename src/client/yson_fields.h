// YsonFields: values of a YSON map by name, of the types that a reader expects.
//
// Promise    Pure. Nothing is copied; the node outlives the object and what find() returns.
// Errors     kInvalidArgument: a value is of another type; the text names the field.
// Tests      table_attributes_test.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "yson/node.h"

namespace moraine::client {

// Milliseconds as a number, or as text with a unit: "30s", "5m", "100ms", "2h", "1d".
std::optional<std::chrono::milliseconds> duration_of(const YsonNode& node);
// An integer of either kind; nullopt: it is none, or does not fit.
std::optional<std::int64_t> integer_of(const YsonNode& node);
// Also the texts "true" and "false", as some clients send them.
std::optional<bool> flag_of(const YsonNode& node);

class YsonFields {
 public:
  // `what`: of which map, for messages.
  YsonFields(const YsonNode& node, std::string_view what) : node_(node), what_(what) {}

  // Null: no such field, or an entity.
  const YsonNode* find(std::string_view name) const {
    const YsonNode* found = node_.find(name);
    return found == nullptr || found->is_entity() ? nullptr : found;
  }
  // nullopt: no such field.
  Result<std::optional<std::string>> text(std::string_view name) const;
  Result<std::optional<std::int64_t>> number(std::string_view name) const;
  Result<std::optional<bool>> flag(std::string_view name) const;
  Result<std::optional<std::chrono::milliseconds>> milliseconds(std::string_view name) const;

 private:
  std::unexpected<Error> wrong(std::string_view name, std::string_view expected) const;

  const YsonNode& node_;
  const std::string_view what_;
};

}  // namespace moraine::client

// Attributes of tables that clients may set, by YTsaurus's names: how their YSON is checked and
// stored. Those that Moraine uses are options of the table (table_options.h); all others are kept
// as they are and have no effect.
//
// Promise    Pure.
// Errors     kInvalidArgument: the text names the attribute.
// Tests      table_attributes_test.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "client/tables.h"
#include "yson/node.h"

namespace moraine::client {

struct SettableAttribute {
  enum class Kind : std::uint8_t { kCount, kDuration, kRatio, kFlag, kText, kMap };
  std::string_view name;
  Kind kind = Kind::kCount;
  std::string_view option{};  // The name for set_attributes(). Empty: kept only.
  bool mount = false;         // A part of mount_config.
  // What "Cannot change ... since not all tablets are unmounted" says of it. Empty: at any time.
  std::string_view unmounted_only{};
  // The YSON of its value when nobody has set it. Empty: it is missing then.
  std::string_view missing{};
};

std::span<const SettableAttribute> settable_attributes();
// Null: there is none.
const SettableAttribute* find_settable(std::string_view name);

// Adds the change that sets the attribute; no value: removes it, that is, sets its default.
Result<void> add_change(TableAttributeChanges& changes, const SettableAttribute& attribute,
                        const YsonNode* value);
// The whole map: options that it does not name get their defaults.
Result<void> add_mount_config(TableAttributeChanges& changes, const YsonNode* value);
Result<void> add_chunk_writer(TableAttributeChanges& changes, const YsonNode* value);

// nullopt: nobody has set it, and it has no value then.
std::optional<YsonNode> value_of(const TableRecord& record, const SettableAttribute& attribute);
// Those options that were set; `effective`: all that Moraine uses, too, as they will be applied.
YsonNode mount_config_of(const TableRecord& record, bool effective);

}  // namespace moraine::client

// What clients find below //sys that is not stored: transactions, locks, the tablet cell, accounts.
//
// Promise    Pure. Each item is a value whose attributes are those of the object.
// Limits     kSystemItemsMax items of a map are shown; single ones are found beyond.
// Tests      stored_tree_test.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheme/tree_state.h"
#include "yson/node.h"

namespace moraine {

inline constexpr std::size_t kSystemItemsMax = 1'000;

// When a transaction was pinged last, in milliseconds since 1970.
using LastPing = std::function<std::uint64_t(const PathId& transaction)>;

// The names of those values.
std::vector<std::string> system_names();
// nullopt: there is no such name. `item`: the only item of a map that is needed.
std::optional<YsonNode> system_value(const TreeState& state, const LastPing& last_ping,
                                     std::string_view name, const std::optional<std::string>& item);
// The attributes of an object that is no node: a transaction, a lock, the tablet cell.
std::optional<YsonMap> object_attributes(const TreeState& state, const LastPing& last_ping,
                                         const PathId& id);
}  // namespace moraine

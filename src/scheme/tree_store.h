// The state of the tree as keys and values of its tablet (scheme.h lists the keys).
//
// Promise    Pure. Loading what was stored, in the order of the keys, gives the state.
// Errors     As the records' own; kCorrupt: a record under another one's key.
// Tests      scheme_test.cpp, node/tree_model_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheme/tree_state.h"

namespace moraine {

// The key that a put changes, and its value; nullopt: it is deleted.
std::pair<std::string, std::optional<Slice>> tree_item(const TreePutAny& put);
// What the keys of all nodes below a node begin with; and those of what a transaction has.
std::string subtree_prefix(const std::string& path);
std::vector<std::string> transaction_prefixes(const PathId& transaction);
Result<void> load_tree_item(TreeState& state, const std::string& key, const Slice& value);

}  // namespace moraine

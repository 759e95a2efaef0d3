// The state of the tree as keys and values of its tablet (scheme.h lists the keys).
//
// Promise    Pure. Loading what was stored, in the order of the keys, gives the state.
// Errors     As the records' own; kCorrupt: a record under another one's key.
// Tests      scheme_test.cpp, node/tree_model_test.cpp.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "scheme/tree_state.h"

namespace moraine {

// The key that a put changes, and its value; nullopt: it is deleted.
std::pair<std::string, std::optional<Slice>> tree_item(const TreePutAny& put);
Result<void> load_tree_item(TreeState& state, const std::string& key, const Slice& value);

}  // namespace moraine

// Answers of get and list: nodes of the tree as one YSON value.
//
// Promise    Pure. Maps are maps; documents and scalars their values; tables, topics, files and
//            nodes below that have the attribute opaque are #. A map with more children than may be
//            shown has the first of them, and the attribute incomplete.
// Limits     kTreeAnswerNodesMax nodes of one answer, and kTreeAnswerCellsMax nodes times wanted
//            attributes; kTreeAnswerBytesMax of values.
// Tests      stored_tree_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/tree.h"
#include "scheme/tree_view.h"
#include "yson/node.h"

namespace moraine {

inline constexpr std::size_t kTreeAnswerNodesMax = 100'000;
inline constexpr std::size_t kTreeAnswerCellsMax = 1'000'000;
inline constexpr std::size_t kTreeAnswerBytesMax = std::size_t{64} << 20;

struct AnswerNode {
  NodePtr node;
  std::size_t parent = 0;  // Its place in the answer; the first node is its own.
  bool incomplete = false;
  YsonMap attributes;
};
using AnswerNodes = std::vector<AnswerNode>;

// The node and all below it, parents first; without attributes.
AnswerNodes subtree_answer(const TreeView& view, const NodePtr& root,
                           const client::TreeGet& options);
// The node and its children.
AnswerNodes list_answer(const TreeView& view, const NodePtr& root, const client::TreeGet& options);
YsonNode as_tree(AnswerNodes nodes);
YsonNode as_list(AnswerNodes nodes);

// What has to be asked elsewhere: attributes of a table.
struct AttributeWish {
  std::vector<std::string> of_table;
};
// Sets those wanted attributes of the node that the tree knows.
AttributeWish add_attributes(const TreeView& view, const PathNode& node,
                             const client::WantedAttributes& wanted, std::uint64_t accessed_ms,
                             YsonMap& attributes);
// Adds those of `values` that are wanted.
void add_table_attributes(const client::WantedAttributes& wanted, const YsonMap& values,
                          YsonMap& attributes);
// A value that is no node of the tree, with its wanted attributes only, to the depth of a list.
YsonNode with_wanted(const YsonNode& value, const client::WantedAttributes& wanted);

}  // namespace moraine

#include "node/tree_answers.h"

#include <algorithm>

#include "client/table_attributes.h"
#include "node/tree_attributes.h"
#include "scheme/value_path.h"

namespace moraine {
namespace {

// As many as all attributes of a table, when all are wanted.
constexpr std::size_t kAllAttributes = 100;

std::size_t nodes_max(const client::WantedAttributes& wanted) {
  const std::size_t names = wanted.all ? kAllAttributes : wanted.names.size();
  return std::clamp<std::size_t>(kTreeAnswerCellsMax / std::max<std::size_t>(names, 1), 1,
                                 kTreeAnswerNodesMax);
}

// Adds the children of the node at a place.
void add_children(const TreeView& view, AnswerNodes& nodes, std::size_t at,
                  const client::TreeGet& options) {
  if (nodes[at].node->kind != NodeKind::kDirectory) return;
  const std::vector<NodePtr> children = view.children(*nodes[at].node);
  const std::size_t room = nodes_max(options.attributes);
  std::size_t most = room - std::min(nodes.size(), room);
  if (options.max_size) {
    most = std::min(most, static_cast<std::size_t>(std::max<std::int64_t>(*options.max_size, 0)));
  }
  nodes[at].incomplete = children.size() > most;
  for (std::size_t i = 0; i < std::min(most, children.size()); ++i) {
    AnswerNode& child = nodes.emplace_back();
    child.node = children[i];
    child.parent = at;
  }
}

bool is_opaque(const PathNode& node) {
  const auto found = node.system.find("opaque");
  if (found == node.system.end()) return false;
  const YsonNode value = from_slice(found->second);
  const bool* flag = value.as<bool>();
  return flag != nullptr && *flag;
}

YsonNode value_of(const PathNode& node) {
  const bool has_value = node.kind == NodeKind::kDocument ||
                         (node.kind >= NodeKind::kString && node.kind <= NodeKind::kBoolean);
  return has_value ? from_slice(node.record) : YsonNode();
}

void set_attributes(YsonNode& value, YsonMap attributes, bool incomplete) {
  if (incomplete) attributes.set("incomplete", true);
  if (!attributes.empty()) value.mutable_attributes() = std::move(attributes);
}

// "a/b" as "a" and the path "/b" inside it.
std::pair<std::string, TreeTokens> split_name(const std::string& name) {
  const auto parsed = parse_tree_path("//" + name);
  if (!parsed || parsed->tokens.empty()) return {name, {}};
  return {parsed->tokens.front().name,
          TreeTokens(parsed->tokens.begin() + 1, parsed->tokens.end())};
}

void add_value(const std::string& name, const TreeTokens& rest, const YsonNode& value,
               YsonMap& attributes) {
  if (rest.empty()) {
    attributes.set(name, value);
    return;
  }
  auto part = get_value(value, rest, name);
  if (!part) return;
  YsonNode* whole = attributes.find(name);
  if (whole == nullptr) whole = &attributes.set(name, YsonMap());
  (void)set_value(*whole, rest, std::move(*part), true, name);
}

bool table_has(std::string_view name) {
  const auto known = client::table_attribute_names();
  return std::ranges::find(known, name, &client::TableAttribute::name) != known.end();
}

AttributeWish add_all(const TreeView& view, const PathNode& node, std::uint64_t accessed_ms,
                      YsonMap& attributes) {
  AttributeWish wish;
  for (const TreeAttribute& one : tree_attributes()) {
    // Values of opaque ones are not computed.
    if (one.opaque) {
      attributes.set(std::string(one.name), YsonNode());
      continue;
    }
    if (auto value = read_tree_attribute(view, node, one.name, accessed_ms)) {
      attributes.set(std::string(one.name), std::move(*value));
    }
  }
  if (node.kind == NodeKind::kTable) {
    for (const client::TableAttribute& one : client::table_attribute_names()) {
      if (attributes.find(one.name) != nullptr) continue;
      if (one.opaque) {
        attributes.set(std::string(one.name), YsonNode());
      } else {
        wish.of_table.emplace_back(one.name);
      }
    }
  }
  for (const auto& [name, value] : node.attributes) attributes.set(name, from_slice(value));
  return wish;
}

}  // namespace

AnswerNodes subtree_answer(const TreeView& view, const NodePtr& root,
                           const client::TreeGet& options) {
  AnswerNodes nodes;
  nodes.emplace_back().node = root;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    bytes += nodes[i].node->record.size();
    if (bytes > kTreeAnswerBytesMax) {
      nodes[nodes[i].parent].incomplete = true;
      nodes.resize(i);
      break;
    }
    if (i > 0 && is_opaque(*nodes[i].node)) continue;
    add_children(view, nodes, i, options);
  }
  return nodes;
}

AnswerNodes list_answer(const TreeView& view, const NodePtr& root, const client::TreeGet& options) {
  AnswerNodes nodes;
  nodes.emplace_back().node = root;
  add_children(view, nodes, 0, options);
  return nodes;
}

YsonNode as_tree(AnswerNodes nodes) {
  std::vector<std::vector<YsonPair>> below(nodes.size());
  for (std::size_t i = nodes.size(); i-- > 0;) {
    AnswerNode& one = nodes[i];
    YsonNode value = value_of(*one.node);
    const bool map = one.node->kind == NodeKind::kDirectory && (i == 0 || !is_opaque(*one.node));
    if (map) {
      YsonMap children;
      for (auto at = below[i].rbegin(); at != below[i].rend(); ++at) {
        children.set(std::move(at->key), std::move(at->node));
      }
      value = YsonNode(std::move(children));
      below[i].clear();
    }
    set_attributes(value, std::move(one.attributes), one.incomplete);
    if (i == 0) return value;
    below[one.parent].push_back({key_of(*one.node), std::move(value)});
  }
  return {};
}

YsonNode as_list(AnswerNodes nodes) {
  YsonList names;
  names.reserve(nodes.size());
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    YsonNode name(key_of(*nodes[i].node));
    set_attributes(name, std::move(nodes[i].attributes), false);
    names.push_back(std::move(name));
  }
  YsonNode list(std::move(names));
  set_attributes(list, {}, nodes[0].incomplete);
  return list;
}

AttributeWish add_attributes(const TreeView& view, const PathNode& node,
                             const client::WantedAttributes& wanted, std::uint64_t accessed_ms,
                             YsonMap& attributes) {
  if (wanted.all) return add_all(view, node, accessed_ms, attributes);
  AttributeWish wish;
  for (const std::string& name : wanted.names) {
    const auto [top, rest] = split_name(name);
    auto value = user_attribute(node, top);
    if (!value) value = read_tree_attribute(view, node, top, accessed_ms);
    if (value) {
      add_value(top, rest, *value, attributes);
    } else if (node.kind == NodeKind::kTable && table_has(top)) {
      wish.of_table.push_back(top);
    }
  }
  return wish;
}

void add_table_attributes(const client::WantedAttributes& wanted, const YsonMap& values,
                          YsonMap& attributes) {
  if (wanted.all) {
    for (const YsonPair& pair : values) {
      if (attributes.find(pair.key) == nullptr) attributes.set(pair.key, pair.node);
    }
    return;
  }
  for (const std::string& name : wanted.names) {
    const auto [top, rest] = split_name(name);
    if (const YsonNode* value = values.find(top)) add_value(top, rest, *value, attributes);
  }
}

YsonNode with_wanted(const YsonNode& value, const client::WantedAttributes& wanted) {
  const auto keep = [&wanted](YsonNode& one) {
    if (!one.has_attributes()) return;
    one.mutable_attributes().erase_if([&wanted](const YsonPair& pair) {
      return !wanted.all && std::ranges::find(wanted.names, pair.key) == wanted.names.end();
    });
  };
  YsonNode out = value;
  keep(out);
  auto* children = out.as<YsonMap>();
  for (std::size_t i = 0; children != nullptr && i < children->size(); ++i) {
    keep(children->node(i));
  }
  return out;
}

}  // namespace moraine

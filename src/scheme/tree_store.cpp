#include "scheme/tree_store.h"

#include <fmt/format.h>

#include "scheme/tree_bug.h"

namespace moraine {
namespace {

std::string hex(const PathId& id) {
  std::string out;
  for (const std::uint8_t byte : id) out += fmt::format("{:02x}", byte);
  return out;
}

std::string key_of(const NodePut& put) {
  return "node/" + put.key;
}
std::string key_of(const TransactionPut& put) {
  return "transaction/" + hex(put.key);
}
std::string key_of(const EntryPut& put) {
  return fmt::format("change/{}{}", hex(put.key.first), put.key.second);
}
std::string key_of(const LockPut& put) {
  return "lock/" + hex(put.key);
}
std::string key_of(const SnapshotPut& put) {
  return fmt::format("snapshot/{}{}", hex(put.key.first), hex(put.key.second));
}
std::string key_of(const MutationPut& put) {
  return "mutation/" + hex(put.key);
}

Slice encode(const PathNode& node) {
  return encode_node(node);
}

// Applies a put that nothing was there before, if `key` is its key.
template <class Put>
Result<void> load(TreeState& state, const std::string& key, Put put) {
  if (key != key_of(put)) {
    return fail(Errc::kCorrupt, fmt::format("a record of the tree under key '{}'", key));
  }
  state.apply(put);
  return {};
}

template <class Record>
std::shared_ptr<const Record> shared(Record record) {
  return std::make_shared<const Record>(std::move(record));
}

// The id whose digits begin at `at`.
Result<PathId> id_in(const std::string& key, std::size_t at) {
  PathId id{};
  if (key.size() < at + 2 * id.size()) return fail(Errc::kCorrupt, "a short key of the tree");
  for (std::size_t i = 0; i < id.size(); ++i) {
    unsigned value = 0;
    for (const char c : key.substr(at + 2 * i, 2)) {
      const bool digit = c >= '0' && c <= '9';
      if (!digit && (c < 'a' || c > 'f')) return fail(Errc::kCorrupt, "an id in a key of the tree");
      value = value * 16 + static_cast<unsigned>(digit ? c - '0' : c - 'a' + 10);
    }
    id[i] = static_cast<std::uint8_t>(value);
  }
  return id;
}

Result<void> load_node(TreeState& state, const std::string& key, const Slice& value) {
  TRY(PathNode node, decode_node(value));
  const std::string_view parent =
      std::string_view(node.path).substr(0, std::min(node.path.rfind('/'), node.path.size()));
  if (parent.size() != node.path.size()) {
    const NodePtr directory = state.nodes().find(parent);
    if (!directory || directory->kind != NodeKind::kDirectory) {
      return fail(Errc::kCorrupt, fmt::format("'{}' is in no directory", node.path));
    }
  }
  std::string path = node.path;
  return load(state, key, NodePut{std::move(path), nullptr, shared(std::move(node))});
}

}  // namespace

std::pair<std::string, std::optional<Slice>> tree_item(const TreePutAny& put) {
  return std::visit(
      [](const auto& one) {
        std::optional<Slice> value;
        if (one.after) value = encode(*one.after);
        return std::pair(key_of(one), std::move(value));
      },
      put);
}

std::string subtree_prefix(const std::string& path) {
  return fmt::format("node/{}/", path);
}

std::vector<std::string> transaction_prefixes(const PathId& transaction) {
  return {"change/" + hex(transaction), "snapshot/" + hex(transaction)};
}

Result<void> load_tree_item(TreeState& state, const std::string& key, const Slice& value) {
  constexpr std::string_view kChange = "change/";
  constexpr std::string_view kSnapshot = "snapshot/";
  if (key.starts_with("transaction/")) {
    TRY(auto record, decode_transaction(value));
    return load(state, key, TransactionPut{record.id, nullptr, shared(std::move(record))});
  }
  if (key.starts_with(kChange)) {
    TRY(const PathId id, id_in(key, kChange.size()));
    TRY(auto record, decode_entry(value));
    std::string path = key.substr(kChange.size() + 2 * id.size());
    return load(state, key, EntryPut{{id, std::move(path)}, nullptr, shared(std::move(record))});
  }
  if (key.starts_with("lock/")) {
    if (has_bug(TreeBug::kRestartEndsLocks)) return {};
    TRY(auto record, decode_lock(value));
    return load(state, key, LockPut{record.id, nullptr, shared(std::move(record))});
  }
  if (key.starts_with(kSnapshot)) {
    TRY(const PathId transaction, id_in(key, kSnapshot.size()));
    TRY(auto record, decode_snapshot(value));
    const PathId node = record.node->id;
    return load(state, key, SnapshotPut{{transaction, node}, nullptr, shared(std::move(record))});
  }
  if (key.starts_with("mutation/")) {
    TRY(auto record, decode_mutation(value));
    return load(state, key, MutationPut{record.id, nullptr, shared(std::move(record))});
  }
  return load_node(state, key, value);
}

}  // namespace moraine

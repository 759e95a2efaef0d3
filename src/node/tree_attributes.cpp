#include "node/tree_attributes.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "scheme/object_id.h"
#include "scheme/path.h"
#include "yson/yson.h"

namespace moraine {
namespace {

constexpr TreeAttribute kAttributes[] = {
    {"id"},
    {"type"},
    {"builtin"},
    {"key"},
    {"parent_id"},
    {"path", true},
    {"ref_counter"},
    {"weak_ref_counter"},
    {"ephemeral_ref_counter"},
    {"foreign"},
    {"native_cell_tag"},
    {"external"},
    {"creation_time"},
    {"modification_time"},
    {"access_time"},
    {"access_counter"},
    {"revision"},
    {"native_content_revision"},
    {"content_revision"},
    {"attribute_revision"},
    {"count"},
    {"value", true},
    {"target_path"},
    {"broken"},
    {"lock_count"},
    {"lock_mode"},
    {"locks", true},
    {"resource_usage", true},
    {"recursive_resource_usage", true},
    {"user_attributes", true},
    {"user_attribute_keys", true},
    {"opaque_attribute_keys", true},
    {"effective_acl", true},
    {"effective_expiration", true},
    {"account", false, true},
    {"owner", false, true},
    {"acl", true, true},
    {"inherit_acl", false, true},
    {"opaque", false, true},
    {"annotation", true, true},
    {kExpirationTime, false, true},
    {kExpirationTimeout, false, true},
};

constexpr std::pair<NodeKind, std::string_view> kTypes[] = {
    {NodeKind::kDirectory, "map_node"},
    {NodeKind::kTopic, "topic"},
    {NodeKind::kTable, "table"},
    {NodeKind::kDocument, "document"},
    {NodeKind::kString, "string_node"},
    {NodeKind::kInt64, "int64_node"},
    {NodeKind::kUint64, "uint64_node"},
    {NodeKind::kDouble, "double_node"},
    {NodeKind::kBoolean, "boolean_node"},
    {NodeKind::kLink, "link"},
    {NodeKind::kFile, "file"},
};

std::string account_of(const PathNode& node) {
  if (node.path == "tmp" || node.path.starts_with("tmp/")) return "tmp";
  if (node.path.empty() || node.path == "sys" || node.path.starts_with("sys/")) return "sys";
  return "default";
}

YsonNode resource_usage(std::size_t nodes) {
  YsonMap usage;
  usage.set("node_count", static_cast<std::int64_t>(nodes));
  usage.set("chunk_count", 0);
  usage.set("disk_space", 0);
  usage.set("disk_space_per_medium", YsonMap());
  usage.set("tablet_count", 0);
  usage.set("tablet_static_memory", 0);
  return usage;
}

YsonNode locks_of(const TreeView& view, const PathNode& node) {
  YsonList locks;
  for (const LockPtr& lock : view.state().locks_of_node(node.id)) {
    YsonMap shown = lock_attributes(*lock);
    shown.erase("node_id");
    shown.erase("type");
    locks.emplace_back(std::move(shown));
  }
  return locks;
}

// The strongest lock that the transaction of the view has.
std::string_view lock_mode(const TreeView& view, const PathNode& node) {
  if (!view.transaction()) return "none";
  const EntryPtr entry = view.state().entry(*view.transaction(), node.path);
  if (entry && entry->made && entry->made->id == node.id) return "exclusive";
  std::string_view mode = "none";
  for (const LockPtr& lock : view.state().locks_of_node(node.id)) {
    if (lock->transaction != *view.transaction() || !lock->acquired) continue;
    if (lock->mode == LockMode::kExclusive) return "exclusive";
    mode = to_string(lock->mode);
  }
  return mode;
}

YsonNode effective_expiration(const TreeView& view, const PathNode& node) {
  YsonMap found;
  for (const std::string_view name : {kExpirationTime, kExpirationTimeout}) {
    std::optional<YsonNode> least;
    std::string where;
    NodePtr at = view.find(node.path);
    while (at) {
      const auto own = at->system.find(name);
      if (own != at->system.end()) {
        const auto value = name == kExpirationTime ? read_tree_attribute(view, *at, name, 0)
                                                   : std::optional(from_slice(own->second));
        const auto earlier = [&] {
          if (!least) return true;
          if (const auto* text = value->as<std::string>()) return *text < *least->as<std::string>();
          return *value->as<std::int64_t>() < *least->as<std::int64_t>();
        };
        if (value && earlier()) {
          least = value;
          where = shown_path(*at);
        }
      }
      if (at->path.empty()) break;
      at = view.find(std::string(parent_of(at->path)));
    }
    YsonNode shown;
    if (least) {
      YsonMap pair;
      pair.set("value", *least);
      pair.set("path", where);
      shown = std::move(pair);
    }
    found.set(name == kExpirationTime ? "time" : "timeout", std::move(shown));
  }
  return found;
}

bool is_scalar(NodeKind kind) {
  return kind >= NodeKind::kString && kind <= NodeKind::kBoolean;
}

YsonNode keys_of(const UserAttributes& attributes) {
  YsonList keys;
  for (const auto& [name, value] : attributes) keys.emplace_back(name);
  return keys;
}

std::optional<YsonNode> read_identity(const TreeView& view, const PathNode& node,
                                      std::string_view name) {
  if (name == "id") return to_text(node.id);
  if (name == "type") return type_name(node.kind);
  if (name == "builtin") return is_builtin(node.path);
  if (name == "key") {
    if (node.path.empty() || is_hidden(node.path)) return std::nullopt;
    return key_of(node);
  }
  if (name == "parent_id") {
    if (node.path.empty() || is_hidden(node.path)) return std::nullopt;
    const NodePtr parent = view.find(std::string(parent_of(node.path)));
    return parent ? std::optional<YsonNode>(to_text(parent->id)) : std::nullopt;
  }
  if (name == "path") return shown_path(node);
  if (name == "ref_counter" || name == "native_cell_tag") return 1;
  if (name == "weak_ref_counter" || name == "ephemeral_ref_counter") return 0;
  if (name == "foreign" || name == "external") return false;
  return std::nullopt;
}

std::optional<YsonNode> read_change(const PathNode& node, std::string_view name,
                                    std::uint64_t accessed_ms) {
  const std::uint64_t modified = std::max(node.modified_ms, node.created_ms);
  if (name == "creation_time") return time_text(node.created_ms);
  if (name == "modification_time") return time_text(modified);
  if (name == "access_time") return time_text(std::max({accessed_ms, node.touched_ms, modified}));
  if (name == "access_counter") return 0;
  if (name.ends_with("revision")) return static_cast<std::int64_t>(node.revision);
  return std::nullopt;
}

std::optional<YsonNode> read_content(const TreeView& view, const PathNode& node,
                                     std::string_view name) {
  if (name == "count") {
    if (node.kind != NodeKind::kDirectory) return std::nullopt;
    return static_cast<std::int64_t>(view.children(node).size());
  }
  if (name == "value") {
    if (node.kind != NodeKind::kDocument && !is_scalar(node.kind)) return std::nullopt;
    return from_slice(node.record);
  }
  if (node.kind != NodeKind::kLink) return std::nullopt;
  if (name == "target_path") return node.record.text();
  const auto target = parse_tree_path(node.record.text());
  const auto place = target ? find_place(view, *target) : std::unexpected(target.error());
  return !place || !place->exact();  // broken
}

}  // namespace

std::span<const TreeAttribute> tree_attributes() {
  return kAttributes;
}

const TreeAttribute* find_tree_attribute(std::string_view name) {
  const auto* const found = std::ranges::find(kAttributes, name, &TreeAttribute::name);
  return found == std::end(kAttributes) ? nullptr : found;
}

std::string_view type_name(NodeKind kind) {
  for (const auto& [one, name] : kTypes) {
    if (one == kind) return name;
  }
  return "unknown";
}

std::optional<NodeKind> parse_type_name(std::string_view name) {
  for (const auto& [kind, one] : kTypes) {
    if (one == name) return kind;
  }
  return std::nullopt;
}

std::optional<YsonNode> read_tree_attribute(const TreeView& view, const PathNode& node,
                                            std::string_view name, std::uint64_t accessed_ms) {
  if (const auto stored = node.system.find(name); stored != node.system.end()) {
    const YsonNode value = from_slice(stored->second);
    const auto* ms = name == kExpirationTime ? value.as<std::int64_t>() : nullptr;
    return ms ? YsonNode(time_text(static_cast<std::uint64_t>(*ms))) : value;
  }
  if (name == "account") return account_of(node);
  if (name == "owner") return "root";
  if (name == "acl" || name == "effective_acl") return YsonList();
  if (name == "inherit_acl") return true;
  if (name == "lock_mode") return lock_mode(view, node);
  if (name == "locks") return locks_of(view, node);
  if (name == "lock_count") {
    return static_cast<std::int64_t>(view.state().locks_of_node(node.id).size());
  }
  if (name == "resource_usage") return resource_usage(1);
  if (name == "recursive_resource_usage") {
    const NodePtr known = view.find(node.path);
    return resource_usage(known ? view.subtree(known, kNodesMax).size() : 1);
  }
  if (name == "user_attributes") return user_attributes(node);
  if (name == "user_attribute_keys") return keys_of(node.attributes);
  if (name == "effective_expiration") return effective_expiration(view, node);
  if (name == "opaque_attribute_keys") {
    YsonList keys;
    for (const TreeAttribute& one : kAttributes) {
      if (one.opaque) keys.emplace_back(one.name);
    }
    return keys;
  }
  if (auto value = read_identity(view, node, name)) return value;
  if (auto value = read_change(node, name, accessed_ms)) return value;
  const bool content =
      name == "count" || name == "value" || name == "target_path" || name == "broken";
  return content ? read_content(view, node, name) : std::nullopt;
}

YsonMap user_attributes(const PathNode& node) {
  YsonMap all;
  for (const auto& [name, value] : node.attributes) all.set(name, from_slice(value));
  return all;
}

std::optional<YsonNode> user_attribute(const PathNode& node, std::string_view name) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return std::nullopt;
  return from_slice(found->second);
}

std::unexpected<Error> cannot_set(std::string_view name) {
  return fail(Errc::kInvalidArgument, fmt::format("Builtin attribute \"{}\" cannot be set", name));
}

Result<Slice> encode_tree_attribute(std::string_view name, const YsonNode& value) {
  if (name == kExpirationTime) {
    TRY(const std::uint64_t ms, parse_time(value));
    return to_slice(static_cast<std::int64_t>(ms));
  }
  if (name == kExpirationTimeout) {
    const auto* number = value.as<std::int64_t>();
    const auto* unsigned_number = value.as<std::uint64_t>();
    constexpr std::int64_t kMsMax = std::int64_t{1} << 52;
    const std::int64_t ms =
        number ? *number
        : unsigned_number
            ? static_cast<std::int64_t>(std::min<std::uint64_t>(*unsigned_number, kMsMax + 1))
            : -1;
    if (ms < 0 || ms > kMsMax) {
      return fail(Errc::kInvalidArgument,
                  "Attribute \"expiration_timeout\" is a number of milliseconds");
    }
    return to_slice(ms);
  }
  const bool text = name == "account" || name == "owner" || name == "annotation";
  const bool flag = name == "inherit_acl" || name == "opaque";
  const bool fits = text   ? value.as<std::string>() != nullptr
                    : flag ? value.as<bool>() != nullptr
                           : value.as<YsonList>() != nullptr;
  if (!fits) {
    return fail(Errc::kInvalidArgument,
                fmt::format("Attribute \"{}\" cannot have a value of type \"{}\"", name,
                            to_string(value.type())));
  }
  return to_slice(value);
}

Slice to_slice(const YsonNode& value) {
  return Slice::copy_of(write_yson(value, YsonFormat::kBinary));
}

YsonNode from_slice(const Slice& bytes) {
  auto value = parse_yson(bytes.text());
  // Attributes that were set by other means than the tree are any bytes.
  return value ? std::move(*value) : YsonNode(bytes.text());
}

std::string time_text(std::uint64_t ms) {
  const std::chrono::sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds(ms)};
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(seconds - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}000Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     ms % 1'000);
}

namespace {

// A number of `digits` digits at `at`, which moves past it and past `stop`, if there is one.
std::optional<int> take_number(std::string_view& text, std::size_t digits, char stop) {
  int value = 0;
  if (text.size() < digits) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value);
  if (error != std::errc{} || end != text.data() + digits || value < 0) return std::nullopt;
  text.remove_prefix(digits);
  if (stop == 0) return value;
  if (!text.starts_with(stop)) return std::nullopt;
  text.remove_prefix(1);
  return value;
}

std::optional<std::uint64_t> parse_time_text(std::string_view text) {
  using namespace std::chrono;
  const auto years = take_number(text, 4, '-');
  const auto months = years ? take_number(text, 2, '-') : std::nullopt;
  const auto days_of = months ? take_number(text, 2, 'T') : std::nullopt;
  const auto hours_of = days_of ? take_number(text, 2, ':') : std::nullopt;
  const auto minutes_of = hours_of ? take_number(text, 2, ':') : std::nullopt;
  const auto seconds_of = minutes_of ? take_number(text, 2, 0) : std::nullopt;
  if (!seconds_of) return std::nullopt;
  std::uint64_t ms = 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    std::size_t digits = 0;
    for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1)) {
      if (digits++ < 3) ms = ms * 10 + static_cast<std::uint64_t>(text[0] - '0');
    }
    if (digits == 0) return std::nullopt;
    for (; digits < 3; ++digits) ms *= 10;
  }
  const bool utc = text == "Z" || text == "+0000" || text == "+00:00" || text.empty();
  const year_month_day date(year(*years), month(static_cast<unsigned>(*months)),
                            day(static_cast<unsigned>(*days_of)));
  if (!utc || !date.ok() || *years < 1970 || *hours_of > 23 || *minutes_of > 59 ||
      *seconds_of > 60) {
    return std::nullopt;
  }
  const auto moment =
      sys_days(date) + hours(*hours_of) + minutes(*minutes_of) + seconds(*seconds_of);
  const auto since = duration_cast<milliseconds>(moment.time_since_epoch()).count();
  return static_cast<std::uint64_t>(since) + ms;
}

}  // namespace

Result<std::uint64_t> parse_time(const YsonNode& value) {
  constexpr std::uint64_t kMsMax = std::uint64_t{1} << 52;
  if (const auto* ms = value.as<std::int64_t>(); ms && *ms >= 0) {
    return std::min(static_cast<std::uint64_t>(*ms), kMsMax);
  }
  if (const auto* ms = value.as<std::uint64_t>()) return std::min(*ms, kMsMax);
  if (const auto* text = value.as<std::string>()) {
    if (const auto ms = parse_time_text(*text)) return *ms;
  }
  return fail(Errc::kInvalidArgument,
              "A time is a text as \"2024-05-01T10:20:30.123456Z\", or milliseconds since 1970");
}

YsonMap lock_attributes(const LockRecord& lock) {
  YsonMap shown;
  shown.set("id", to_text(lock.id));
  shown.set("type", "lock");
  shown.set("state", lock.acquired ? "acquired" : "pending");
  shown.set("transaction_id", to_text(lock.transaction));
  shown.set("node_id", to_text(lock.node));
  shown.set("mode", to_string(lock.mode));
  if (lock.child_key) shown.set("child_key", *lock.child_key);
  if (lock.attribute_key) shown.set("attribute_key", *lock.attribute_key);
  shown.set("implicit", lock.implicit);
  shown.set("creation_time", time_text(lock.created_ms));
  return shown;
}

YsonMap transaction_attributes(const TreeState& state, const TreeTransaction& transaction,
                               std::uint64_t last_ping_ms) {
  YsonMap shown;
  for (const auto& [name, value] : transaction.attributes) shown.set(name, from_slice(value));
  shown.set("id", to_text(transaction.id));
  shown.set("type", transaction.parent ? "nested_transaction" : "transaction");
  shown.set("state", "active");
  shown.set("parent_id", to_text(transaction.parent.value_or(kNullObjectId)));
  shown.set("start_time", time_text(transaction.created_ms));
  shown.set("creation_time", time_text(transaction.created_ms));
  shown.set("timeout", static_cast<std::int64_t>(transaction.timeout_ms));
  shown.set("last_ping_time", time_text(std::max(last_ping_ms, transaction.created_ms)));
  if (transaction.deadline_ms != 0) shown.set("deadline", time_text(transaction.deadline_ms));
  shown.set("owner", transaction.user);
  YsonList nested;
  for (const PathId& id : state.nested(transaction.id)) nested.emplace_back(to_text(id));
  shown.set("nested_transaction_ids", std::move(nested));
  YsonList locks;
  YsonList nodes;
  for (const LockPtr& lock : state.locks_of_transaction(transaction.id)) {
    locks.emplace_back(to_text(lock->id));
    if (lock->acquired) nodes.emplace_back(to_text(lock->node));
  }
  shown.set("lock_ids", std::move(locks));
  shown.set("locked_node_ids", std::move(nodes));
  YsonMap usage;
  shown.set("resource_usage", std::move(usage));
  return shown;
}

}  // namespace moraine

// Commands on nodes of the tree and their attributes.
#include <fmt/format.h>

#include <unordered_set>

#include "gateway/yt/door_lane.h"
#include "gateway/yt/handlers.h"

namespace moraine::yt {
namespace {

constexpr std::size_t kWantedAttributesMax = 1'000;

// Each once.
YtResult<void> add_names(const std::vector<std::string>& names, client::WantedAttributes& wanted) {
  std::unordered_set<std::string_view> known(wanted.names.begin(), wanted.names.end());
  for (const std::string& given : names) {
    const std::string_view name = std::string_view(given).substr(given.starts_with('/') ? 1 : 0);
    if (!known.insert(name).second) continue;
    if (wanted.names.size() == kWantedAttributesMax) {
      return refuse(Code::kGeneric,
                    fmt::format("More than {} attributes are wanted", kWantedAttributesMax));
    }
    wanted.names.emplace_back(name);
  }
  return {};
}

// attributes=[a; b] or {keys=[a]; paths=["b/c"]}.
YtResult<client::WantedAttributes> wanted_attributes(const Call& call) {
  client::WantedAttributes wanted;
  const YsonNode* const given = call.parameters.find("attributes");
  if (given == nullptr) return wanted;
  if (given->as<YsonList>()) {
    YT_TRY(const std::vector<std::string> names, texts_of(*given, "attributes"));
    YT_TRY_VOID(add_names(names, wanted));
    return wanted;
  }
  if (!given->as<YsonMap>()) return refuse(Code::kGeneric, "attributes must be a list or a map");
  for (const char* part : {"keys", "paths"}) {
    const YsonNode* const list = given->find(part);
    if (list == nullptr || list->is_entity()) continue;
    YT_TRY(const std::vector<std::string> names, texts_of(*list, part));
    YT_TRY_VOID(add_names(names, wanted));
  }
  return wanted;
}

YtResult<client::TreeGet> get_options(const Call& call) {
  client::TreeGet options;
  YT_TRY(options.attributes, wanted_attributes(call));
  YT_TRY(options.max_size, call.parameters.integer("max_size"));
  return options;
}

// A read of the tree, whose answer is not counted before it is there.
Task<YtResult<YsonNode>> in_turn(Call& call, Task<Result<YsonNode>> read) {
  Semaphore& turns = call.lane.tree_reads();
  co_await turns.acquire();
  Result<YsonNode> value = co_await std::move(read);
  turns.release();
  if (!value) co_return std::unexpected(YtError(std::move(value).error()));
  const std::size_t bytes = memory_of(*value);
  if (bytes > kAnswerBytesHeld) YT_CO_TRY_VOID(take_room(call.room, call.room.bytes() + bytes));
  co_return std::move(*value);
}

YtResult<void> answer_value(Call& call, YsonNode value) {
  YT_TRY(const bool bare, call.parameters.boolean("return_only_value", false));
  if (bare)
    call.result = std::move(value);
  else
    call.answer("value", std::move(value));
  return {};
}

void answer_nothing(Call& call) {
  if (call.version == 4) call.result = YsonMap();
}

YtResult<client::TreeSet> set_options(const Call& call) {
  client::TreeSet options;
  YT_TRY(options.recursive, call.parameters.boolean("recursive", false));
  YT_TRY(options.force, call.parameters.boolean("force", false));
  return options;
}

Task<YtResult<void>> copy_or_move(Call& call, bool move) {
  YT_CO_TRY(client::Tree* const tree, tree_of(call));
  YT_CO_TRY(client::TreeScope scope, call.scope());
  YT_CO_TRY(std::string source, path_of(call, "source_path"));
  YT_CO_TRY(std::string destination, path_of(call, "destination_path"));
  client::TreeCopy options;
  options.move = move;
  const Parameters& given = call.parameters;
  YT_CO_TRY(options.recursive, given.boolean("recursive", false));
  YT_CO_TRY(options.ignore_existing, given.boolean("ignore_existing", false));
  YT_CO_TRY(options.force, given.boolean("force", false));
  YT_CO_TRY(options.preserve_creation_time, given.boolean("preserve_creation_time", move));
  YT_CO_TRY(options.preserve_modification_time, given.boolean("preserve_modification_time", move));
  YT_CO_TRY(options.preserve_expiration_time, given.boolean("preserve_expiration_time", move));
  YT_CO_TRY(options.preserve_expiration_timeout,
            given.boolean("preserve_expiration_timeout", move));
  YT_CO_TRY(const PathId id, co_await tree->copy(std::move(scope), std::move(source),
                                                 std::move(destination), options));
  call.answer("node_id", to_text(id));
  co_return YtResult<void>();
}

YtResult<client::TreeLock> lock_options(const Call& call) {
  client::TreeLock options;
  YT_TRY(const std::string mode, call.parameters.text_or("mode", "exclusive"));
  if (mode == "snapshot")
    options.mode = client::TreeLockMode::kSnapshot;
  else if (mode == "shared")
    options.mode = client::TreeLockMode::kShared;
  else if (mode != "exclusive")
    return refuse(Code::kGeneric, fmt::format("Invalid lock mode \"{}\"", mode));
  YT_TRY(options.waitable, call.parameters.boolean("waitable", false));
  for (const char* name : {"child_key", "attribute_key"}) {
    if (call.parameters.find(name) == nullptr) continue;
    YT_TRY(std::string key, call.parameters.text(name));
    (name[0] == 'c' ? options.child_key : options.attribute_key) = std::move(key);
  }
  return options;
}

}  // namespace

Task<YtResult<void>> get_node(Call& call) {
  YT_CO_TRY(client::Tree* const tree, tree_of(call));
  YT_CO_TRY(client::TreeScope scope, call.scope());
  YT_CO_TRY(std::string path, path_of(call));
  YT_CO_TRY(client::TreeGet options, get_options(call));
  YT_CO_TRY(YsonNode value, co_await in_turn(call, tree->get(std::move(scope), std::move(path),
                                                             std::move(options))));
  co_return answer_value(call, std::move(value));
}

Task<YtResult<void>> list_nodes(Call& call) {
  YT_CO_TRY(client::Tree* const tree, tree_of(call));
  YT_CO_TRY(client::TreeScope scope, call.scope());
  YT_CO_TRY(std::string path, path_of(call));
  YT_CO_TRY(client::TreeGet options, get_options(call));
  YT_CO_TRY(YsonNode value, co_await in_turn(call, tree->list(std::move(scope), std::move(path),
                                                              std::move(options))));
  co_return answer_value(call, std::move(value));
}

Task<YtResult<void>> node_exists(Call& call) {
  YT_CO_TRY(client::Tree* const tree, tree_of(call));
  YT_CO_TRY(client::TreeScope scope, call.scope());
  YT_CO_TRY(std::string path, path_of(call));
  YT_CO_TRY(const bool exists, co_await tree->exists(std::move(scope), std::move(path)));
  call.answer("value", exists);
  co_return YtResult<void>();
}

Task<YtResult<void>> set_node(Call& call) {
  YT_CO_TRY(client::Tree* const tree, tree_of(call));
  YT_CO_TRY(client::TreeScope scope, call.scope());
  YT_CO_TRY(std::string path, path_of(call));
  YT_CO_TRY(const client::TreeSet options, set_options(call));
  YT_CO_TRY(YsonNode value, co_await call.read_input());
  YT_CO_TRY_VOID(co_await tree->set(std::move(scope), std::move(path), std::move(value), options));
  answer_nothing(call);
  co_return YtResult<void>();
}

Task<YtResult<void>> multiset_attributes(Call& call) {
  YT_CO_TRY(client::Tree* const tree, tree_of(call));
  YT_CO_TRY(client::TreeScope scope, call.scope());
  YT_CO_TRY(std::string path, path_of(call));
  YT_CO_TRY(const client::TreeSet options, set_options(call));
  YT_CO_TRY(YsonNode values, co_await call.read_input());
  YsonMap* const map = values.as<YsonMap>();
  if (map == nullptr) co_return refuse(Code::kGeneric, "A map of attributes is expected");
  YT_CO_TRY_VOID(
      co_await tree->set_attributes(std::move(scope), std::move(path), std::move(*map), options));
  answer_nothing(call);
  co_return YtResult<void>();
}

Task<YtResult<void>> remove_node(Call& call) {
  YT_CO_TRY(client::Tree* const tree, tree_of(call));
  YT_CO_TRY(client::TreeScope scope, call.scope());
  YT_CO_TRY(std::string path, path_of(call));
  client::TreeRemove options;
  YT_CO_TRY(options.recursive, call.parameters.boolean("recursive", true));
  YT_CO_TRY(options.force, call.parameters.boolean("force", false));
  YT_CO_TRY_VOID(co_await tree->remove(std::move(scope), std::move(path), options));
  answer_nothing(call);
  co_return YtResult<void>();
}

Task<YtResult<void>> create_node(Call& call) {
  YT_CO_TRY(client::Tree* const tree, tree_of(call));
  YT_CO_TRY(client::TreeScope scope, call.scope());
  client::TreeCreate options;
  const Parameters& given = call.parameters;
  YT_CO_TRY(options.type, given.text("type"));
  const bool has_path = given.find("path") != nullptr;
  if (has_path) {
    YT_CO_TRY(options.path, path_of(call));
  }
  if (const YsonNode* attributes = given.find("attributes")) {
    if (!attributes->as<YsonMap>()) co_return refuse(Code::kGeneric, "attributes must be a map");
    options.attributes = *attributes->as<YsonMap>();
  }
  YT_CO_TRY(options.recursive, given.boolean("recursive", false));
  YT_CO_TRY(options.ignore_existing, given.boolean("ignore_existing", false));
  YT_CO_TRY(options.lock_existing, given.boolean("lock_existing", false));
  YT_CO_TRY(options.force, given.boolean("force", false));
  YT_CO_TRY(options.ignore_type_mismatch, given.boolean("ignore_type_mismatch", false));
  YT_CO_TRY(const PathId id, co_await tree->create(std::move(scope), std::move(options)));
  call.answer(has_path ? "node_id" : "object_id", to_text(id));
  co_return YtResult<void>();
}

Task<YtResult<void>> copy_node(Call& call) {
  return copy_or_move(call, false);
}

Task<YtResult<void>> move_node(Call& call) {
  return copy_or_move(call, true);
}

Task<YtResult<void>> link_node(Call& call) {
  YT_CO_TRY(client::Tree* const tree, tree_of(call));
  YT_CO_TRY(client::TreeScope scope, call.scope());
  YT_CO_TRY(std::string target, path_of(call, "target_path"));
  YT_CO_TRY(std::string path, path_of(call, "link_path"));
  client::TreeLink options;
  const Parameters& given = call.parameters;
  YT_CO_TRY(options.recursive, given.boolean("recursive", false));
  YT_CO_TRY(options.ignore_existing, given.boolean("ignore_existing", false));
  YT_CO_TRY(options.lock_existing, given.boolean("lock_existing", false));
  YT_CO_TRY(options.force, given.boolean("force", false));
  YT_CO_TRY(const PathId id,
            co_await tree->link(std::move(scope), std::move(target), std::move(path), options));
  call.answer("node_id", to_text(id));
  co_return YtResult<void>();
}

Task<YtResult<void>> lock_node(Call& call) {
  YT_CO_TRY(client::Tree* const tree, tree_of(call));
  YT_CO_TRY(client::TreeScope scope, call.scope());
  YT_CO_TRY(std::string path, path_of(call));
  YT_CO_TRY(client::TreeLock options, lock_options(call));
  if (!scope.transaction) {
    co_return refuse(Code::kGeneric, "A valid master transaction is required");
  }
  YT_CO_TRY(const client::TreeLocked locked,
            co_await tree->lock(std::move(scope), std::move(path), std::move(options)));
  if (call.version == 3) {
    call.result = to_text(locked.lock);
    co_return YtResult<void>();
  }
  YsonMap map;
  map.set("lock_id", to_text(locked.lock));
  map.set("node_id", to_text(locked.node));
  map.set("revision", locked.revision);
  call.result = std::move(map);
  co_return YtResult<void>();
}

Task<YtResult<void>> unlock_node(Call& call) {
  YT_CO_TRY(client::Tree* const tree, tree_of(call));
  YT_CO_TRY(client::TreeScope scope, call.scope());
  YT_CO_TRY(std::string path, path_of(call));
  YT_CO_TRY_VOID(co_await tree->unlock(std::move(scope), std::move(path)));
  answer_nothing(call);
  co_return YtResult<void>();
}

}  // namespace moraine::yt

#include "gateway/yt/call.h"

#include <fmt/format.h>

#include <utility>

#include "gateway/yt/door_lane.h"
#include "gateway/yt/rich_path.h"
#include "yson/yson.h"

namespace moraine::yt {
namespace {

class MemoryCounter final : public YsonSink {
 public:
  bool on(const YsonEvent& event) override {
    using Kind = YsonEvent::Kind;
    if (event.kind == Kind::kKey) {
      bytes_ += sizeof(YsonPair) - sizeof(YsonNode) + event.text.size();
    } else if (event.is_scalar()) {
      bytes_ += sizeof(YsonNode) + (event.kind == Kind::kString ? event.text.size() : 0);
    } else if (event.begins()) {
      bytes_ += sizeof(YsonNode);
    }
    return true;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace

std::size_t memory_of(const YsonNode& node) {
  MemoryCounter counter;
  std::ignore = emit(node, counter);
  return counter.bytes();
}

std::size_t memory_of(const YsonMap& map) {
  std::size_t bytes = 0;
  for (const YsonPair& pair : map)
    bytes += sizeof(YsonPair) + pair.key.size() + memory_of(pair.node);
  return bytes;
}

Call::Call(DoorLane& its_lane, const Command& its_command, unsigned api)
    : lane(its_lane), command(its_command), version(api), room(its_lane.inputs()) {}

void Call::answer(std::string_view name, YsonNode value) {
  if (version == 3) {
    result = std::move(value);
    return;
  }
  YsonMap map;
  map.set(std::string(name), std::move(value));
  result = std::move(map);
}

Task<YtResult<YsonNode>> Call::read_input() {
  if (input == nullptr) {
    // As part of a batch.
    const YsonNode* const given = parameters.find("input");
    if (given == nullptr) co_return refuse(Code::kGeneric, "Missing required parameter /input");
    co_return *given;
  }
  const std::size_t before = room.bytes();
  YT_CO_TRY(const std::string text, co_await read_all(*input, room));
  YT_CO_TRY(YsonNode node, read_document(text, input_format));
  YT_CO_TRY_VOID(take_room(room, before + memory_of(node)));
  co_return node;
}

YtResult<client::TreeScope> Call::scope() const {
  client::TreeScope scope;
  scope.user = user;
  YT_TRY(scope.transaction, parameters.id("transaction_id"));
  YT_TRY(scope.ping_ancestors, parameters.boolean("ping_ancestor_transactions", false));
  YT_TRY(scope.suppress_access_tracking, parameters.boolean("suppress_access_tracking", false));
  YT_TRY(scope.suppress_expiration_renewal,
         parameters.boolean("suppress_expiration_timeout_renewal", false));
  YT_TRY(const std::vector<std::string> prerequisites,
         parameters.texts("prerequisite_transaction_ids"));
  for (const std::string& text : prerequisites) {
    YT_TRY(const PathId id, parse_object_id(text));
    scope.prerequisites.push_back(id);
  }
  YT_TRY(const std::optional<PathId> mutation, parameters.id("mutation_id"));
  if (mutation && command.is_volatile) {
    YT_TRY(const bool retry, parameters.boolean("retry", false));
    scope.mutation = client::MutationId{*mutation, retry};
  }
  return scope;
}

client::Tree* Call::tree() const {
  return lane.tree();
}

Executor& Call::executor() const {
  return lane.world().executor;
}

YtResult<void> take_room(http::AnswerRoom& room, std::size_t bytes) {
  if (room.try_set(bytes)) return {};
  return refuse(Code::kQueueLimit,
                "Requests of all clients take the memory that there is for them; retry later");
}

Task<YtResult<std::string>> read_all(Input& input, http::AnswerRoom& room) {
  const std::size_t before = room.bytes();
  std::string text;
  for (;;) {
    YT_CO_TRY(const Slice part, co_await input.read());
    if (part.empty()) co_return text;
    if (part.size() > kStructuredBytesMax - text.size()) {
      co_return refuse(Code::kGeneric,
                       fmt::format("the data has more than {} bytes", kStructuredBytesMax));
    }
    text += part.text();
    YT_CO_TRY_VOID(take_room(room, before + text.size()));
  }
}

YtResult<client::Tree*> tree_of(const Call& call) {
  if (client::Tree* const tree = call.tree()) return tree;
  return not_supported("The attribute tree");
}

YtResult<std::string> path_of(const Call& call, std::string_view parameter) {
  const YsonNode* const node = call.parameters.find(parameter);
  if (node == nullptr) {
    return refuse(Code::kGeneric, fmt::format("Missing required parameter /{}", parameter));
  }
  YT_TRY(RichPath path, parse_rich_path(*node));
  return std::move(path.path);
}

}  // namespace moraine::yt

#include "gateway/yt/call.h"

#include <fmt/format.h>

#include "gateway/yt/door_lane.h"
#include "gateway/yt/rich_path.h"

namespace moraine::yt {

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
  std::string text;
  for (;;) {
    YT_CO_TRY(const Slice part, co_await input->read());
    if (part.empty()) break;
    if (part.size() > kStructuredBytesMax - text.size()) {
      co_return refuse(Code::kGeneric,
                       fmt::format("the input has more than {} bytes", kStructuredBytesMax));
    }
    text += part.text();
  }
  co_return read_document(text, input_format);
}

YtResult<client::TreeScope> Call::scope() const {
  client::TreeScope scope;
  scope.user = user;
  YT_TRY(scope.transaction, parameters.id("transaction_id"));
  YT_TRY(scope.ping_ancestors, parameters.boolean("ping_ancestor_transactions", false));
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

// Transactions: of the tree, and of rows (which this node keeps until their commit).
#include <fmt/format.h>

#include <algorithm>

#include "gateway/yt/batch.h"
#include "gateway/yt/door_lane.h"
#include "gateway/yt/handlers.h"
#include "gateway/yt/row_writes.h"
#include "io/run_on.h"

namespace moraine::yt {
namespace {

constexpr std::chrono::milliseconds kTimeoutDefault = std::chrono::seconds(30);

YtResult<std::optional<PathId>> tablet_transaction(const Call& call) {
  YT_TRY(const auto id, call.parameters.id("transaction_id"));
  if (!id) return refuse(Code::kGeneric, "Missing required parameter /transaction_id");
  if (object_type(*id) != ObjectType::kTabletTransaction) return std::nullopt;
  return *id;
}

void empty_result(Call& call) {
  if (call.version == 4) call.result = YsonMap();
}

Task<YtResult<void>> start_tablet(Call& call, std::chrono::milliseconds timeout) {
  YT_CO_TRY(const std::string atomicity, call.parameters.text_or("atomicity", "full"));
  if (atomicity != "full" && atomicity != "none") {
    co_return refuse(Code::kGeneric, fmt::format("Invalid atomicity \"{}\"", atomicity));
  }
  TransactionOptions options;
  options.atomicity = atomicity == "none" ? Atomicity::kNone : Atomicity::kFull;
  // Its lease is kept here, where pings renew it.
  options.timeout = kTabletTransactionTimeoutMax;
  DoorLane& lane = call.lane;
  YT_CO_TRY(client::Transaction begun, co_await lane.tables().begin(options, lane.world().random));
  const PathId id = lane.transactions().add(std::move(begun), timeout);
  call.answer("transaction_id", to_text(id));
  co_return YtResult<void>();
}

Task<YtResult<void>> start_master(Call& call, std::chrono::milliseconds timeout) {
  YT_CO_TRY(client::Tree* const tree, tree_of(call));
  YT_CO_TRY(client::TreeScope scope, call.scope());
  client::TreeTransactionOptions options;
  options.parent = std::exchange(scope.transaction, std::nullopt);
  options.timeout = timeout;
  if (const YsonNode* given = call.parameters.find("attributes")) {
    if (!given->as<YsonMap>()) co_return refuse(Code::kGeneric, "attributes must be a map");
    options.attributes = *given->as<YsonMap>();
  }
  YT_CO_TRY(const PathId id, co_await tree->begin(std::move(scope), std::move(options)));
  call.answer("transaction_id", to_text(id));
  co_return YtResult<void>();
}

YsonNode commit_answer(Timestamp timestamp) {
  YsonMap map;
  map.set("primary_commit_timestamp", timestamp);
  YsonMap by_cell;
  by_cell.set("1", timestamp);
  map.set("commit_timestamps", std::move(by_cell));
  return map;
}

// From the mutation of a commit to the one that keeps its answer; none of a batch is so far away.
constexpr std::size_t kAnswerOfCommit = std::size_t{1} << 31;

// A timestamp after the commit of a transaction of the tree; for a repeated commit the same one.
Task<YtResult<Timestamp>> commit_timestamp(Call& call, client::Tree& tree,
                                           std::optional<client::MutationId> mutation) {
  if (mutation) {
    mutation->id = following_id(mutation->id, kAnswerOfCommit);
    mutation->retry = true;
    YT_CO_TRY(const std::optional<YsonNode> known, co_await tree.begin_mutation(*mutation));
    const auto* const timestamp = known ? known->as<std::uint64_t>() : nullptr;
    if (timestamp != nullptr) co_return *timestamp;
  }
  YT_CO_TRY(const Timestamp timestamp, co_await call.lane.tables().timestamp());
  if (mutation) {
    YsonNode kept(timestamp);
    YT_CO_TRY_VOID(co_await tree.end_mutation(*mutation, std::move(kept)));
  }
  co_return timestamp;
}

// The transaction, taken from the lane that has it.
Task<YtResult<std::unique_ptr<client::Transaction>>> take(Call& call, PathId id) {
  using Taken = YtResult<std::unique_ptr<client::Transaction>>;
  YT_CO_TRY(DoorLane* const lane, call.lane.lane_of(id));
  co_return co_await run_there(lane->world().executor, [lane, id]() -> Task<Taken> {
    co_return lane->transactions().take(id);
  });
}

}  // namespace

Task<YtResult<void>> start_transaction(Call& call) {
  YT_CO_TRY(const std::string type, call.parameters.text_or("type", "master"));
  YT_CO_TRY(const auto given, call.parameters.duration("timeout"));
  std::chrono::milliseconds timeout = given.value_or(kTimeoutDefault);
  if (timeout.count() <= 0) co_return refuse(Code::kGeneric, "The timeout must be positive");
  timeout = std::min<std::chrono::milliseconds>(timeout, kTabletTransactionTimeoutMax);
  if (type == "tablet") co_return co_await start_tablet(call, timeout);
  if (type == "master") co_return co_await start_master(call, timeout);
  co_return refuse(Code::kGeneric, fmt::format("Invalid transaction type \"{}\"", type));
}

Task<YtResult<void>> ping_transaction(Call& call) {
  YT_CO_TRY(const auto sticky, tablet_transaction(call));
  if (sticky) {
    YT_CO_TRY(DoorLane* const lane, call.lane.lane_of(*sticky));
    const PathId id = *sticky;
    auto used = co_await run_there(lane->world().executor,
                                   [lane, id]() -> Task<YtResult<client::Transaction*>> {
                                     co_return lane->transactions().use(id);
                                   });
    YT_CO_TRY_VOID(std::move(used));
  } else {
    YT_CO_TRY(client::Tree* const tree, tree_of(call));
    YT_CO_TRY(client::TreeScope scope, call.scope());
    const PathId id = *std::exchange(scope.transaction, std::nullopt);
    YT_CO_TRY_VOID(co_await tree->ping(std::move(scope), id));
  }
  empty_result(call);
  co_return YtResult<void>();
}

Task<YtResult<void>> commit_transaction(Call& call) {
  YT_CO_TRY(const auto sticky, tablet_transaction(call));
  if (sticky) {
    YT_CO_TRY(const std::unique_ptr<client::Transaction> taken, co_await take(call, *sticky));
    YT_CO_TRY(const Timestamp timestamp, co_await taken->commit());
    if (call.version == 4) call.result = commit_answer(timestamp);
    co_return YtResult<void>();
  }
  YT_CO_TRY(client::Tree* const tree, tree_of(call));
  YT_CO_TRY(client::TreeScope scope, call.scope());
  const PathId id = *std::exchange(scope.transaction, std::nullopt);
  const std::optional<client::MutationId> mutation = scope.mutation;
  YT_CO_TRY_VOID(co_await tree->commit(std::move(scope), id));
  YT_CO_TRY(const Timestamp timestamp, co_await commit_timestamp(call, *tree, mutation));
  if (call.version == 4) call.result = commit_answer(timestamp);
  co_return YtResult<void>();
}

Task<YtResult<void>> abort_transaction(Call& call) {
  YT_CO_TRY(const auto sticky, tablet_transaction(call));
  if (sticky) {
    YT_CO_TRY_VOID(co_await take(call, *sticky));
  } else {
    YT_CO_TRY(client::Tree* const tree, tree_of(call));
    YT_CO_TRY(client::TreeScope scope, call.scope());
    YT_CO_TRY(const bool force, call.parameters.boolean("force", false));
    const PathId id = *std::exchange(scope.transaction, std::nullopt);
    YT_CO_TRY_VOID(co_await tree->abort(std::move(scope), id, force));
  }
  empty_result(call);
  co_return YtResult<void>();
}

}  // namespace moraine::yt

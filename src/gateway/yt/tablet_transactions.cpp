#include "gateway/yt/tablet_transactions.h"

#include <fmt/format.h>

#include "gateway/yt/call.h"

namespace moraine::yt {
namespace {

constexpr Duration kSweepPeriod = 1s;
// In the place of YTsaurus's cell tag: the high half of the third number.
constexpr std::size_t kLaneAt = 8;

}  // namespace

PathId new_tablet_transaction_id(Random& random, std::size_t lane) {
  PathId id = new_object_id(random, ObjectType::kTabletTransaction);
  id[kLaneAt] = static_cast<std::uint8_t>((lane + 1) >> 8);
  id[kLaneAt + 1] = static_cast<std::uint8_t>(lane + 1);
  return id;
}

std::optional<std::size_t> lane_of_transaction(const PathId& id) {
  if (object_type(id) != ObjectType::kTabletTransaction) return std::nullopt;
  const std::size_t number = std::size_t{id[kLaneAt]} << 8 | id[kLaneAt + 1];
  if (number == 0) return std::nullopt;
  return number - 1;
}

std::unexpected<YtError> no_sticky_transaction(const PathId& id) {
  return refuse(Code::kNoTransaction,
                fmt::format("Sticky transaction {} is not found, this usually means that you use "
                            "tablet transactions within HTTP API; it may be over or have expired",
                            to_text(id)));
}

PathId TabletTransactions::add(client::Transaction transaction, std::chrono::milliseconds timeout) {
  sweep();
  const PathId id = new_tablet_transaction_id(world_.random, lane_);
  Open open{std::make_unique<client::Transaction>(std::move(transaction)), timeout,
            world_.executor.now() + timeout, std::make_unique<http::AnswerRoom>(budget_)};
  open_.insert_or_assign(id, std::move(open));
  return id;
}

YtResult<client::Transaction*> TabletTransactions::use(const PathId& id) {
  sweep();
  const auto found = open_.find(id);
  const Instant now = world_.executor.now();
  if (found == open_.end() || found->second.expires <= now) return no_sticky_transaction(id);
  found->second.expires = now + found->second.timeout;
  return found->second.transaction.get();
}

YtResult<void> TabletTransactions::count_changes(const PathId& id) {
  const auto found = open_.find(id);
  if (found == open_.end()) return no_sticky_transaction(id);
  return take_room(*found->second.room, found->second.transaction->bytes());
}

YtResult<std::unique_ptr<client::Transaction>> TabletTransactions::take(const PathId& id) {
  YT_TRY_VOID(use(id));
  const auto found = open_.find(id);
  std::unique_ptr<client::Transaction> taken = std::move(found->second.transaction);
  open_.erase(found);
  return taken;
}

void TabletTransactions::sweep() {
  const Instant now = world_.executor.now();
  if (now < next_sweep_) return;
  next_sweep_ = now + kSweepPeriod;
  std::erase_if(open_, [now](const auto& one) { return one.second.expires <= now; });
}

}  // namespace moraine::yt

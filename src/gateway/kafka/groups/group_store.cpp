// StoredGroups: the effects of groups: answers, timers, writes; and loading all groups at the
// start.
#include "base/log.h"
#include "gateway/kafka/groups/group_codec.h"
#include "gateway/kafka/groups/stored_groups.h"

namespace moraine::kafka {
namespace {

constexpr std::string_view kKeyPrefix = "g/";

std::vector<Command> commands_of(const std::string& group, const GroupEffects::Store& order) {
  std::string key(kKeyPrefix);
  key += group;
  if (order.record) return {WriteKey{std::move(key), encode_group(*order.record), false}};
  return {delete_key(std::move(key))};
}

}  // namespace

Task<Result<void>> StoredGroups::load() {
  INVARIANT(!loaded_, "groups are loaded once");
  const std::shared_ptr<const bool> stopped = stopped_;
  entries_.clear();
  bytes_ = 0;
  KeyRange range = KeyRange::prefix(std::string(kKeyPrefix));
  while (true) {
    const std::shared_ptr<KeyValue> tablet = *stopped ? nullptr : tablet_();
    if (tablet == nullptr) {
      co_return fail(Errc::kNotHere, "the tablet of groups is not running here");
    }
    const Result<RangeRead> page = co_await tablet->read_range(range, kReadBytesMax, true);
    if (*stopped) co_return fail(Errc::kUnavailable, "groups were stopped");
    if (!page) co_return std::unexpected<Error>(page.error());
    for (const RangeRead::Item& item : page->items) restore(item);
    if (!page->overrun) break;
    if (page->items.empty()) co_return fail(Errc::kCorrupt, "a group record is too long");
    range.from = page->items.back().info.key;
    range.from_inclusive = false;
  }
  loaded_ = true;
  for (auto& [id, entry] : entries_) arm(entry);
  co_return Result<void>();
}

void StoredGroups::restore(const RangeRead::Item& item) {
  const std::string id = item.info.key.substr(kKeyPrefix.size());
  auto record = decode_group(item.value);
  if (record && record->group_id != id) record = fail(Errc::kCorrupt, "record of another group");
  if (!record) {
    log_error("consumer group cannot be read", {{"group", id}, {"error", record.error()}});
    return;
  }
  const auto [at, is_new] = entries_.insert_or_assign(id, Entry(Group(std::move(*record), now())));
  count_bytes(at->second);
}

void StoredGroups::stop() {
  if (std::exchange(*stopped_, true)) return;
  Wakes wakes;
  for (auto& [id, entry] : entries_) {
    world_.executor.cancel(entry.timer);
    for (auto& [ticket, kept] : entry.waiters) wakes.kept.emplace_back(std::move(kept), false);
  }
  for (auto& [id, held] : joins_) {
    JoinGroupResponse response;
    response.error_code = ErrorCode::kCoordinatorNotAvailable;
    wakes.joins.emplace_back(std::move(held), std::move(response));
  }
  for (auto& [id, held] : syncs_) {
    SyncGroupResponse response;
    response.error_code = ErrorCode::kCoordinatorNotAvailable;
    wakes.syncs.emplace_back(std::move(held), std::move(response));
  }
  entries_.clear();
  bytes_ = 0;
  joins_.clear();
  syncs_.clear();
  wakes.wake();
}

void StoredGroups::Wakes::wake() {
  for (auto& [held, response] : joins) held->set(std::move(response));
  for (auto& [held, response] : syncs) held->set(std::move(response));
  for (auto& [waiter, outcome] : kept) waiter->set(outcome);
}

void StoredGroups::settle(Entry& entry, Wakes wakes) {
  GroupEffects effects = entry.group.take_effects();
  claim(effects, wakes);
  if (effects.store) entry.wanted = std::move(effects.store);
  count_bytes(entry);
  start_write(entry);
  arm(entry);
  drop_if_removed(entry);
  wakes.wake();
}

void StoredGroups::count_bytes(Entry& entry) {
  bytes_ -= std::exchange(entry.bytes, entry.group.bytes());
  bytes_ += entry.bytes;
}

void StoredGroups::claim(GroupEffects& effects, Wakes& wakes) {
  for (auto& answer : effects.joins) {
    auto held = joins_.extract(answer.held);
    INVARIANT(!held.empty(), "join {} is answered twice", answer.held);
    wakes.joins.emplace_back(std::move(held.mapped()), std::move(answer.response));
  }
  for (auto& answer : effects.syncs) {
    auto held = syncs_.extract(answer.held);
    INVARIANT(!held.empty(), "sync {} is answered twice", answer.held);
    wakes.syncs.emplace_back(std::move(held.mapped()), std::move(answer.response));
  }
}

StoredGroups::Kept StoredGroups::when_stored(Entry& entry) {
  auto kept = std::make_shared<OneShot<bool>>();
  entry.waiters.emplace_back(entry.group.last_ticket(), kept);
  return kept;
}

void StoredGroups::start_write(Entry& entry) {
  if (!entry.wanted || entry.writing) return;
  entry.writing = true;
  spawn(write(stopped_, entry.group.id()));
}

Task<void> StoredGroups::write(std::shared_ptr<const bool> stopped, std::string group) {
  co_await yield(world_.executor);  // The caller has not answered yet.
  if (*stopped) co_return;
  const GroupEffects::Store order = *std::exchange(find(group)->wanted, std::nullopt);
  std::shared_ptr<KeyValue> tablet = tablet_();
  Result<void> outcome = fail(Errc::kNotHere, "the tablet of groups is not running here");
  if (tablet != nullptr) outcome = co_await tablet->execute(commands_of(group, order));
  if (*stopped) co_return;
  if (!outcome) {
    log_warning("group is not stored; retrying", {{"group", group}, {"error", outcome.error()}});
  }
  finish_write(group, order.ticket, outcome.has_value());
}

void StoredGroups::finish_write(const std::string& group, StoreTicket ticket, bool kept) {
  Entry& entry = *find(group);
  entry.writing = false;
  entry.group.stored(ticket, kept, now());
  Wakes wakes;
  std::erase_if(entry.waiters, [&](auto& waiter) {
    if (waiter.first > ticket) return false;
    wakes.kept.emplace_back(std::move(waiter.second), kept);
    return true;
  });
  settle(entry, std::move(wakes));
}

void StoredGroups::arm(Entry& entry) {
  const Instant when = entry.group.deadline();
  if (entry.timer_at <= when) return;  // The timer checks again then.
  world_.executor.cancel(entry.timer);
  entry.timer_at = when;
  entry.timer = world_.executor.schedule(when, [this, id = entry.group.id()] { on_timer(id); });
}

void StoredGroups::on_timer(const std::string& group) {
  const std::string id = group;  // The callback that owns it may be destroyed meanwhile.
  Entry& entry = *find(id);
  entry.timer = {};
  entry.timer_at = Instant::never();
  entry.group.expire(now());
  settle(entry);
}

void StoredGroups::drop_if_removed(const Entry& entry) {
  const bool dead = entry.group.state() == GroupState::kDead;
  if (entry.writing || entry.wanted || !(dead || entry.group.forgettable())) return;
  INVARIANT(entry.waiters.empty(), "group {} is dropped while a request waits", entry.group.id());
  world_.executor.cancel(entry.timer);
  bytes_ -= entry.bytes;
  entries_.erase(entries_.find(entry.group.id()));
}

}  // namespace moraine::kafka

// Joining the group: from the device's log to serving.

#include "blob/vdisk/guid_recovery.h"

#include <algorithm>

#include "blob/vdisk/guid_decision.h"
#include "blob/vdisk/syncer.h"
#include "blob/vdisk/vdisk.h"

namespace moraine::blob {
namespace {

constexpr Duration kRetryDelay = 200ms;

}  // namespace

GuidAction decide_guid(LocalState local, std::uint64_t guid, NeighbourGuid remembered) {
  switch (local) {
    case LocalState::kEmpty:
      return remembered.state == GuidState::kFinal ? GuidAction::kLostData : GuidAction::kFirstRun;
    case LocalState::kSelected:
      return remembered.state == GuidState::kEmpty ? GuidAction::kInconsistent
                                                   : GuidAction::kContinueFirstRun;
    case LocalState::kLost:
      return remembered.state == GuidState::kFinal ? GuidAction::kLostData
                                                   : GuidAction::kInconsistent;
    case LocalState::kRetired: return GuidAction::kInconsistent;
    case LocalState::kFinal:
      return remembered.state == GuidState::kFinal && remembered.guid == guid
                 ? GuidAction::kGood
                 : GuidAction::kInconsistent;
  }
  return GuidAction::kInconsistent;
}

Task<void> GuidRecovery::run() {
  if (disk_.alone()) {
    co_await run_alone();
    co_return;
  }
  if (has_bug(SeededBug::kServeBeforeRecovery)) {
    (void)co_await set_local(LocalState::kFinal, fresh_guid(0));
    disk_.become_ready();
    co_return;
  }
  while (!over()) {
    if (co_await attempt()) co_return;
    co_await sleep_for(disk_.executor(), kRetryDelay, disk_.scope_);
  }
}

std::uint64_t GuidRecovery::fresh_guid(std::uint64_t remembered) {
  return make_guid(guid_age(remembered) + 1, disk_.device_.world().random.next());
}

bool GuidRecovery::over() const {
  return disk_.scope_.closed() || disk_.phase_ != VDisk::Phase::kRecovering;
}

// A group of one disk has no neighbours to ask or to recover facts from.
Task<void> GuidRecovery::run_alone() {
  if (disk_.lost_ || disk_.state().meta().state == LocalState::kLost) {
    disk_.break_down("acknowledged records cannot be read and there is no copy of them");
    co_return;
  }
  if (disk_.state().meta().state != LocalState::kFinal) {
    const auto set = co_await set_local(LocalState::kFinal, fresh_guid(0));
    if (!set) co_return;
  }
  disk_.become_ready();
}

// True when recovery has ended, successfully or not.
Task<bool> GuidRecovery::attempt() {
  const std::optional<Answers> answers = co_await ask_neighbours();
  if (!answers || over()) co_return over();
  const NeighbourGuid remembered = answers->strongest;
  const MetaState& meta = disk_.state().meta();
  LocalState local = meta.state;
  // A healthy disk with lost records counts as one that lost its data; it keeps what it still has.
  if (disk_.lost_ && local == LocalState::kFinal) local = LocalState::kLost;
  switch (decide_guid(local, meta.guid, remembered)) {
    case GuidAction::kFirstRun: co_return co_await first_run(fresh_guid(remembered.guid));
    case GuidAction::kContinueFirstRun: co_return co_await first_run(meta.guid);
    case GuidAction::kLostData: co_return co_await recover_index(fresh_guid(remembered.guid));
    case GuidAction::kGood: judge_good(*answers); co_return true;
    case GuidAction::kInconsistent: judge_inconsistent(remembered); co_return true;
  }
  co_return true;
}

// The guid matches. The neighbours know how far they have read this disk's log, so they can tell
// whether its data is complete.
void GuidRecovery::judge_good(const Answers& answers) {
  if (answers.read_up_to <= disk_.state().last_lsn()) {
    disk_.become_ready();
    return;
  }
  disk_.break_down(fmt::format(
      "this is an old copy of the disk: its log ends at {}, but disk {} has read it up to {}; "
      "replace it by an empty disk",
      disk_.state().last_lsn(), answers.read_by, answers.read_up_to));
}

void GuidRecovery::judge_inconsistent(NeighbourGuid remembered) {
  const MetaState& meta = disk_.state().meta();
  const bool newer =
      remembered.state == GuidState::kFinal && guid_age(remembered.guid) > guid_age(meta.guid);
  if (disk_.skipped_ && newer) {
    // Moved away and back by generations that this disk has missed.
    disk_.leave_group();
    return;
  }
  disk_.break_down(fmt::format(
      "not the device that the group knows: an old copy, or one of another cluster; its guid is "
      "{:x} (state {}), the group remembers {:x} (state {})",
      meta.guid, static_cast<int>(meta.state), remembered.guid,
      static_cast<int>(remembered.state)));
}

Task<bool> GuidRecovery::superseded() {
  for (;;) {
    const std::optional<Answers> answers = co_await ask_neighbours();
    if (disk_.scope_.closed() || disk_.phase_ != VDisk::Phase::kReady) co_return false;
    if (answers) {
      co_return guid_age(answers->strongest.guid) > guid_age(disk_.state().meta().guid);
    }
    co_await sleep_for(disk_.executor(), kRetryDelay, disk_.scope_);
  }
}

// The strongest guid that a quorum of the others remembers; nullopt when too few answer. A disk
// that may have lost its data does not count itself.
Task<std::optional<GuidRecovery::Answers>> GuidRecovery::ask_neighbours() {
  ExchangeGuid question;
  question.order = disk_.state().order();
  const bool trusted = disk_.state().meta().state == LocalState::kFinal && !disk_.lost_;
  const Answers answers = co_await exchange(question);
  DiskSet counted = answers.from;
  if (trusted) counted |= disk_bit(disk_.state().order());
  if (!group_quorum(disk_.state().geometry(), counted)) co_return std::nullopt;
  co_return answers;
}

Task<GuidRecovery::Answers> GuidRecovery::exchange(ExchangeGuid question) {
  Answers answers;
  TaskScope asking;
  for (std::uint32_t order = 0; order < disk_.state().geometry().disks(); ++order) {
    if (order != disk_.state().order()) asking.spawn(exchange_with(order, question, answers));
  }
  co_await asking.join();
  co_return answers;
}

Task<void> GuidRecovery::exchange_with(std::uint32_t order, ExchangeGuid question,
                                       Answers& answers) {
  RequestBody body = question;
  const DiskReply answer = co_await disk_.ask(order, std::move(body));
  const auto* got = std::get_if<ExchangeGuidReply>(&answer.body);
  if (answer.status != Status::kOk || !got) co_return;
  answers.from |= disk_bit(order);
  if (got->state == question.state && got->guid == question.guid) answers.agreed |= disk_bit(order);
  if (got->log == disk_.state().meta().guid && got->position > answers.read_up_to) {
    answers.read_up_to = got->position;
    answers.read_by = order;
  }
  const NeighbourGuid said{got->state, got->guid};
  if (said.state != GuidState::kEmpty && supersedes(answers.strongest, said)) {
    answers.strongest = said;
  }
}

Task<bool> GuidRecovery::have_remembered(GuidState state, std::uint64_t guid) {
  ExchangeGuid order;
  order.order = disk_.state().order();
  order.state = state;
  order.guid = guid;
  const Answers answers = co_await exchange(order);
  // Neighbours that still remember something else did not accept the guid.
  co_return group_quorum(disk_.state().geometry(), answers.agreed);
}

Task<Result<void>> GuidRecovery::set_local(LocalState state, std::uint64_t guid) {
  VDisk::MetaChange change = [state, guid](MetaState& meta) {
    meta.state = state;
    meta.guid = guid;
  };
  co_return co_await disk_.log_meta(std::move(change));
}

Task<bool> GuidRecovery::first_run(std::uint64_t guid) {
  if (disk_.state().meta().state == LocalState::kEmpty) {
    if (!co_await have_remembered(GuidState::kInProgress, guid)) co_return over();
    if (!co_await set_local(LocalState::kSelected, guid)) co_return true;
  }
  if (!co_await have_remembered(GuidState::kFinal, guid)) co_return over();
  if (!co_await set_local(LocalState::kFinal, guid)) co_return true;
  if (!over()) disk_.become_ready();
  co_return true;
}

// Recovers the group's index. The data is replicated once this disk serves again.
Task<bool> GuidRecovery::recover_index(std::uint64_t guid) {
  if (!co_await set_local(LocalState::kLost, guid)) co_return true;
  disk_.events_.data_lost(disk_.lost_ ? "records on the device cannot be read"
                                      : "the device was replaced, or the VDisk moved here",
                          disk_.options_.loss_delay);
  co_await disk_.wait_while_recovering(disk_.executor().now() + disk_.options_.loss_delay);
  for (std::uint32_t order = 0; order < disk_.state().geometry().disks(); ++order) {
    disk_.syncer_->forget(order);
  }
  DiskSet synced = 0;
  while (!over() && !group_quorum(disk_.state().geometry(), synced)) {
    synced |= co_await pull_from_all(synced);
    if (!group_quorum(disk_.state().geometry(), synced)) {
      co_await sleep_for(disk_.executor(), kRetryDelay, disk_.scope_);
    }
  }
  if (over()) co_return true;
  if (!co_await disk_.log_facts(disk_.state_.claims_after_loss())) co_return true;
  if (!co_await have_remembered(GuidState::kFinal, guid)) co_return over();
  if (!co_await set_local(LocalState::kFinal, guid)) co_return true;
  disk_.lost_ = false;
  disk_.state_.collect_all();
  if (over()) co_return true;
  disk_.events_.ready(true);
  disk_.become_ready();
  co_return true;
}

// Returns the neighbours whose whole index was pulled.
Task<DiskSet> GuidRecovery::pull_from_all(DiskSet already) {
  DiskSet synced = 0;
  TaskScope pulling;
  for (std::uint32_t order = 0; order < disk_.state().geometry().disks(); ++order) {
    if (order == disk_.state().order() || contains(already, order)) continue;
    pulling.spawn(pull_from(order, synced));
  }
  co_await pulling.join();
  co_return synced;
}

Task<void> GuidRecovery::pull_from(std::uint32_t order, DiskSet& synced) {
  if (co_await disk_.syncer_->pull_all(order)) synced |= disk_bit(order);
}

Task<void> VDisk::join_group() {
  GuidRecovery recovery(*this);
  co_await recovery.run();
}

}  // namespace moraine::blob

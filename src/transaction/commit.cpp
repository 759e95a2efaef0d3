#include "transaction/commit.h"

#include <algorithm>
#include <map>

#include "table/model/no_timestamp.h"

namespace moraine {
namespace {

std::string_view name_of(Atomicity atomicity) {
  return atomicity == Atomicity::kFull ? "full" : "none";
}

Result<void> check_writable(const OpenTable& table, const OpenRange& range) {
  if (range.state == MountState::kMounted) return {};
  if (table.removed) return fail(Errc::kNotFound, was_removed(table.path));
  const auto writable = [](MountState state) {
    return state == MountState::kMounted || state == MountState::kMounting;
  };
  if (std::ranges::none_of(table.ranges, writable, &OpenRange::state)) {
    return fail(Errc::kReadOnly, fmt::format("Table {} has no mounted tablets", table.path));
  }
  const bool starts = range.state == MountState::kMounting;
  return fail(starts ? Errc::kNotHere : Errc::kReadOnly,
              fmt::format("Tablet {} of table {} is in {} while \"mounted\" expected",
                          range.tablet.value, table.path, range.shown_state()));
}

}  // namespace

Result<std::vector<Participant>> split_by_tablet(GatheredTransaction transaction) {
  std::map<TabletId, Participant> by_tablet;
  for (TableChanges& part : transaction.tables) {
    const OpenTable& table = *part.table;
    if (table.atomicity != transaction.atomicity && !part.changes.empty()) {
      return fail(
          Errc::kInvalidArgument,
          fmt::format("Invalid atomicity mode: \"{}\" instead of \"{}\" (table {})",
                      name_of(transaction.atomicity), name_of(table.atomicity), table.path));
    }
    for (table::RowChange& change : part.changes) {
      const OpenRange& range = table.ranges[table.range_of(as_bytes(change.key))];
      Participant& participant = by_tablet[range.tablet];
      if (participant.write.changes.empty()) {
        TRY_VOID(check_writable(table, range));
        participant.tablet = range.tablet;
        participant.write.transaction = transaction.id;
        participant.write.start = transaction.start;
        participant.write.schema = table.schema;
      }
      participant.write.changes.push_back(std::move(change));
      if (participant.write.changes.size() > table::kRowsPerTransactionMax) {
        return fail(Errc::kInvalidArgument,
                    fmt::format("Transaction affects too many rows in tablet {}: more than {}",
                                range.tablet.value, table::kRowsPerTransactionMax));
      }
    }
  }
  std::vector<Participant> participants;
  participants.reserve(by_tablet.size());
  for (auto& [id, participant] : by_tablet) participants.push_back(std::move(participant));
  return participants;
}

namespace {

// Commits tablet by tablet; without atomicity each row is independent.
Task<Result<Timestamp>> commit_each(TabletCalls& calls, std::vector<Participant> participants,
                                    Instant deadline) {
  Timestamp newest = 0;
  std::size_t done = 0;
  for (Participant& participant : participants) {
    Result<Timestamp> committed =
        co_await calls.commit(participant.tablet, std::move(participant.write), deadline);
    if (!committed && done == 0) co_return committed;
    if (!committed) {
      co_return fail(
          Errc::kUnknownOutcome,
          fmt::format("rows of {} of {} tablets are committed, then tablet {}: {}", done,
                      participants.size(), participant.tablet.value, committed.error().message()));
    }
    newest = std::max(newest, *committed);
    ++done;
  }
  co_return newest;
}

}  // namespace

Task<Result<Timestamp>> commit_transaction(CommitParts parts, GatheredTransaction transaction,
                                           Instant deadline) {
  const Timestamp start = transaction.start;
  const bool atomic = transaction.atomicity == Atomicity::kFull;
  CO_TRY(std::vector<Participant> participants, split_by_tablet(std::move(transaction)));
  if (participants.empty()) co_return start;
  if (participants.size() == 1 || !atomic) {
    co_return co_await commit_each(parts.calls, std::move(participants), deadline);
  }
  const Result<Timestamp> requested = co_await parts.timestamps.next();
  if (!requested) co_return std::unexpected(no_timestamp(requested.error()));
  for (Participant& participant : participants) participant.write.requested = *requested;
  co_return co_await parts.commit_many(std::move(participants));
}

}  // namespace moraine

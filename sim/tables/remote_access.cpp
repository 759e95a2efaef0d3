#include "sim/tables/remote_access.h"

#include <algorithm>
#include <map>

namespace moraine::sim {
namespace {

constexpr Duration kCallDeadline = 5s;

}  // namespace

template <class T>
Task<Answer<T>> RemoteAccess::ask(std::function<Task<Result<T>>(TableHosts::Session&)> call) {
  TableHosts::Session* session = hosts_.some_session(random_);
  if (!session) co_return Result<T>(fail(Errc::kReadOnly, "no node is running"));
  std::function<Task<Result<T>>()> on_node = [session, call = std::move(call)] {
    return call(*session);
  };
  co_return co_await ask_node<T>(world_, session->world.executor, session->over,
                                 std::move(on_node));
}

Task<Answer<Timestamp>> RemoteAccess::timestamp() {
  const std::function<Task<Result<Timestamp>>(TableHosts::Session&)> call =
      [](TableHosts::Session& session) { return session.timestamps.next(); };
  return ask<Timestamp>(call);
}

Task<Answer<std::vector<SeenRow>>> RemoteAccess::scan(std::vector<RowName> rows, Timestamp at) {
  const TabletId tablet{place_of(rows.front())};
  const ScanCall call{
      at, value_columns(), {key_of(rows.front()), key_of(rows.back()) + '\0'}, 1'000};
  const std::function<Task<Result<RemoteTablets::ScanPage>>(TableHosts::Session&)> run =
      [tablet, call](TableHosts::Session& session) {
        return session.tablets.scan(tablet, call, session.world.executor.now() + kCallDeadline);
      };
  const auto page = co_await ask<RemoteTablets::ScanPage>(run);
  if (!page) co_return std::nullopt;
  if (!*page) co_return Result<std::vector<SeenRow>>(std::unexpected((*page).error()));
  std::map<std::string, FoundRow> by_key;
  for (const FoundRow& row : (*page)->rows) by_key[row.key] = row;
  std::vector<SeenRow> seen;
  for (const RowName& row : rows) seen.push_back(seen_row(by_key[key_of(row)]));
  co_return seen;
}

Task<Answer<std::vector<SeenRow>>> RemoteAccess::read(std::vector<RowName> rows, Timestamp at) {
  if (random_.one_in(3)) co_return co_await scan(std::move(rows), at);
  const TabletId tablet{place_of(rows.front())};
  LookupCall call{at, value_columns(), {}};
  for (const RowName& row : rows) call.keys.push_back(key_of(row));
  const std::function<Task<Result<std::vector<FoundRow>>>(TableHosts::Session&)> run =
      [tablet, call](TableHosts::Session& session) {
        return session.tablets.lookup(tablet, call, session.world.executor.now() + kCallDeadline);
      };
  const auto answer = co_await ask<std::vector<FoundRow>>(run);
  if (!answer) co_return std::nullopt;
  if (!*answer) co_return Result<std::vector<SeenRow>>(std::unexpected((*answer).error()));
  std::vector<SeenRow> seen;
  for (const FoundRow& row : **answer) seen.push_back(seen_row(row));
  co_return seen;
}

std::vector<Participant> RemoteAccess::participants_of(const ModelTransaction& transaction) const {
  std::map<TabletId, Participant> by_tablet;
  std::vector<PlannedChange> changes = transaction.changes;
  std::ranges::sort(changes, {}, &PlannedChange::row);
  for (const PlannedChange& change : changes) {
    const TabletId tablet = layout_.tablet_of(change.row);
    Participant& participant = by_tablet[tablet];
    participant.tablet = tablet;
    participant.write.transaction = transaction_id(transaction.number);
    participant.write.start = transaction.start;
    participant.write.changes.push_back(change_of(change, transaction.number));
  }
  std::vector<Participant> participants;
  for (auto& [id, participant] : by_tablet) participants.push_back(std::move(participant));
  return participants;
}

Task<Answer<Timestamp>> RemoteAccess::commit(ModelTransaction transaction) {
  const std::vector<Participant> participants = participants_of(transaction);
  const std::vector<TabletId> coordinators = layout_.coordinator_tablets();
  const TabletId coordinator = coordinators[random_.below(coordinators.size())];
  const std::function<Task<Result<Timestamp>>(TableHosts::Session&)> call =
      [participants, coordinator](TableHosts::Session& session) {
        const Instant deadline = session.world.executor.now() + kCallDeadline;
        if (participants.size() > 1) {
          return session.tablets.decide(coordinator, participants, deadline);
        }
        const Participant& only = participants.front();
        return session.tablets.commit(only.tablet, only.write, deadline);
      };
  co_return co_await ask<Timestamp>(call);
}

Task<void> RemoteAccess::look_on_node(TableHosts::Hold running, RowName row,
                                      Reply<std::vector<FoundVersion>> reply) {
  const auto found =
      co_await running->table->reader().lookup_versions(key_of(row), kMaxTimestamp, std::nullopt);
  if (!found) {
    reply->set(Result<std::vector<FoundVersion>>(std::unexpected(found.error())));
    co_return;
  }
  const auto leads = co_await running->table->confirm_lead();
  if (!leads) {
    reply->set(Result<std::vector<FoundVersion>>(std::unexpected(leads.error())));
    co_return;
  }
  reply->set(
      Result<std::vector<FoundVersion>>(versions_of(*found, *running->table->settings().schema)));
}

Task<Answer<std::vector<FoundVersion>>> RemoteAccess::look(RowName row) {
  auto reply = std::make_shared<OneShot<Answer<std::vector<FoundVersion>>>>();
  // The tablet is not held during the wait: its node may end meanwhile.
  if (const TableHosts::Hold running = hosts_.newest(layout_.tablet_of(row))) {
    hosts_.use(running, [row, reply](TableHosts::Hold hold) {
      return look_on_node(std::move(hold), row, reply);
    });
  } else {
    co_return std::nullopt;
  }
  world_.executor().schedule(world_.executor().now() + kCallTime,
                             [reply] { reply->set(std::nullopt); });
  auto answer = co_await *reply;
  co_await yield(world_.executor());
  co_return answer;
}

}  // namespace moraine::sim

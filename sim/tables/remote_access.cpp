#include "sim/tables/remote_access.h"

#include <algorithm>
#include <map>

#include "table/chunk/column_filter.h"
#include "table/model/key.h"

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

Task<Result<std::vector<SeenRow>>> RemoteAccess::scan_on(TableHosts::Session& session,
                                                         TabletId tablet, std::vector<RowName> rows,
                                                         Timestamp at) {
  const std::size_t keys = campaign_schema(std::nullopt).key_count();
  table::ScanRequest request;
  request.timestamp = at;
  request.bounds = {key_of(rows.front()), key_of(rows.back()) + '\0'};
  for (std::size_t i = 0; i < keys; ++i) {
    request.columns.push_back(static_cast<table::ColumnIndex>(i));
  }
  for (const table::ColumnIndex column : value_columns()) request.columns.push_back(column);
  const Instant deadline = session.world.executor.now() + kCallDeadline;
  std::map<std::string, SeenRow> by_key;
  do {
    CO_TRY(const ScanPage page, co_await session.tablets.scan(tablet, nullptr, request, deadline));
    for (std::size_t row = 0; row < page.batch.rows; ++row) {
      std::vector<Value> cells;
      for (const table::ColumnVector& column : page.batch.columns) {
        cells.push_back(table::value_at(column, row));
      }
      by_key[table::encode_key(std::span(cells).first(keys))] =
          seen_row(std::span(cells).subspan(keys));
    }
    request.bounds.from = page.next;
  } while (!request.bounds.from.empty());
  std::vector<SeenRow> seen;
  for (const RowName& row : rows) seen.push_back(by_key[key_of(row)]);
  co_return seen;
}

Task<Result<std::vector<SeenRow>>> RemoteAccess::look_up_on(TableHosts::Session& session,
                                                            TabletId tablet,
                                                            std::vector<RowName> rows,
                                                            Timestamp at) {
  std::vector<std::string> keys;
  for (const RowName& row : rows) keys.push_back(key_of(row));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const std::vector<table::ColumnIndex> columns = value_columns();
  table::LookupRequest request;
  request.keys = views;
  request.columns = columns;
  request.timestamp = at;
  Rowset found;
  const Instant deadline = session.world.executor.now() + kCallDeadline;
  CO_TRY_VOID(co_await session.tablets.lookup(tablet, nullptr, request, found, deadline));
  std::vector<SeenRow> seen;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    seen.push_back(found.exists(i) ? seen_row(found.row(i)) : SeenRow());
  }
  co_return seen;
}

Task<Answer<std::vector<SeenRow>>> RemoteAccess::read(std::vector<RowName> rows, Timestamp at) {
  const bool scans = random_.one_in(3);
  const TabletId tablet{place_of(rows.front())};
  const std::function<Task<Result<std::vector<SeenRow>>>(TableHosts::Session&)> call =
      [scans, tablet, rows, at](TableHosts::Session& session) {
        return scans ? scan_on(session, tablet, rows, at) : look_up_on(session, tablet, rows, at);
      };
  co_return co_await ask<std::vector<SeenRow>>(call);
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

// How clients reach tablets, and tell the model of it.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/tables/table_clients.h"

namespace moraine::sim {
namespace {

constexpr Duration kCallTime = 12s;  // After it the outcome is called unknown.
constexpr Duration kCallDeadline = 5s;
constexpr std::size_t kPastMax = 400;

// Nothing was done, and nothing will be.
bool is_refusal(Errc code) {
  return code == Errc::kAborted || code == Errc::kReadOnly || code == Errc::kOverloaded ||
         code == Errc::kInvalidArgument;
}

template <class T>
TableAnswer answer_of(const std::optional<Result<T>>& answer) {
  if (!answer) return TableAnswer::kTimeout;
  if (*answer) return TableAnswer::kOk;
  const Errc code = (*answer).error().code;
  if (code == Errc::kAborted) return TableAnswer::kAborted;
  return is_refusal(code) ? TableAnswer::kRefused : TableAnswer::kUnknown;
}

}  // namespace

template <class T>
Task<void> TableClients::carry(Task<Result<T>> task, Reply<T> reply) {
  reply->set(co_await std::move(task));
}

template <class T>
Task<std::optional<Result<T>>> TableClients::ask(
    std::function<Task<Result<T>>(TableHosts::Session&)> call) {
  TableHosts::Session* session = hosts_.some_session(random_);
  if (!session) co_return Result<T>(fail(Errc::kReadOnly, "no node runs"));
  auto reply = std::make_shared<OneShot<std::optional<Result<T>>>>();
  world_.executor().schedule(world_.executor().now() + kCallTime,
                             [reply] { reply->set(std::nullopt); });
  session->world.executor.post([session, over = session->over, call = std::move(call), reply] {
    if (*over) {
      reply->set(Result<T>(fail(Errc::kReadOnly, "the node has ended")));
    } else {
      spawn(carry<T>(call(*session), reply));
    }
  });
  std::optional<Result<T>> answer = co_await *reply;
  co_await yield(world_.executor());
  if (history_.verbose() && (!answer || !*answer)) {
    history_.say(answer ? (*answer).error().message() : "a call took too long");
  }
  co_return answer;
}

Task<std::optional<Timestamp>> TableClients::draw() {
  const Timestamp floor = model_.floor();
  const std::function<Task<Result<Timestamp>>(TableHosts::Session&)> call =
      [](TableHosts::Session& session) { return session.timestamps.next(); };
  const auto given = co_await ask<Timestamp>(call);
  history_.tally.add(TableCommand::kTimestamp, answer_of(given));
  if (!given || !*given) co_return std::nullopt;
  model_.drawn(**given, floor);
  past_.push_back(**given);
  if (past_.size() > kPastMax) past_.pop_front();
  co_return **given;
}

Task<std::optional<TableClients::Seen>> TableClients::read_tablet(TabletId tablet, Rows rows,
                                                                  Timestamp at) {
  const Instant began = history_.now();
  Result<std::vector<FoundRow>> found;
  const bool scans = random_.one_in(3);
  if (scans) {
    ScanCall call{at, value_columns(), {key_of(rows.front()), key_of(rows.back()) + '\0'}, 1'000};
    const std::function<Task<Result<RemoteTablets::ScanPage>>(TableHosts::Session&)> run =
        [tablet, call](TableHosts::Session& session) {
          return session.tablets.scan(tablet, call, session.world.executor.now() + kCallDeadline);
        };
    const auto page = co_await ask<RemoteTablets::ScanPage>(run);
    if (!page || !*page) co_return std::nullopt;
    std::map<std::string, FoundRow> by_key;
    for (const FoundRow& row : (*page)->rows) by_key[row.key] = row;
    found->clear();
    for (const RowName& row : rows) found->push_back(by_key[key_of(row)]);
  } else {
    LookupCall call{at, value_columns(), {}};
    for (const RowName& row : rows) call.keys.push_back(key_of(row));
    const std::function<Task<Result<std::vector<FoundRow>>>(TableHosts::Session&)> run =
        [tablet, call](TableHosts::Session& session) {
          return session.tablets.lookup(tablet, call, session.world.executor.now() + kCallDeadline);
        };
    const auto answer = co_await ask<std::vector<FoundRow>>(run);
    if (!answer || !*answer) {
      if (answer && (*answer).error().code == Errc::kCorrupt) {
        history_.fail(fmt::format("tablet {}: {}", tablet.value, (*answer).error().message()));
      }
      co_return std::nullopt;
    }
    found = **answer;
  }
  Seen seen;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    seen.emplace_back(rows[i], seen_row((*found)[i]));
    model_.seen({rows[i], at, began, seen.back().second});
  }
  co_return seen;
}

Task<void> TableClients::read_part(TabletId tablet, Rows rows, Timestamp at,
                                   std::optional<Seen>& out) {
  out = co_await read_tablet(tablet, std::move(rows), at);
}

Task<std::optional<TableClients::Seen>> TableClients::read(Rows rows, Timestamp at,
                                                           TableCommand command) {
  std::map<TabletId, Rows> by_tablet;
  std::ranges::sort(rows);
  for (const RowName& row : rows) by_tablet[layout_.tablet_of(row)].push_back(row);
  std::vector<std::optional<Seen>> parts(by_tablet.size());
  TaskScope reads;
  std::size_t i = 0;
  for (const auto& [tablet, of_tablet] : by_tablet) {
    reads.spawn(read_part(tablet, of_tablet, at, parts[i++]));
  }
  co_await reads.join();
  co_await yield(world_.executor());
  const bool all = std::ranges::all_of(parts, [](const auto& part) { return part.has_value(); });
  history_.tally.add(command, all ? TableAnswer::kOk : TableAnswer::kFailed);
  if (!all) co_return std::nullopt;
  Seen seen;
  for (const auto& part : parts) seen.insert(seen.end(), part->begin(), part->end());
  co_return seen;
}

std::vector<Participant> TableClients::participants_of(const ModelTransaction& transaction) const {
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

bool TableClients::in_one_tablet(const std::vector<PlannedChange>& changes) const {
  return std::ranges::all_of(changes, [&](const PlannedChange& change) {
    return layout_.tablet_of(change.row) == layout_.tablet_of(changes.front().row);
  });
}

Task<Fate> TableClients::commit(ModelTransaction transaction, TableCommand command) {
  const std::uint64_t number = transaction.number;
  const std::vector<Participant> participants = participants_of(transaction);
  const std::vector<TabletId> coordinators = layout_.coordinator_tablets();
  const TabletId coordinator = coordinators[random_.below(coordinators.size())];
  const std::string told = fmt::format("transaction {} from {}", number, transaction.start);
  const Timestamp floor = std::max(model_.floor(), transaction.start);
  model_.sent(std::move(transaction));
  const std::function<Task<Result<Timestamp>>(TableHosts::Session&)> call =
      [participants, coordinator](TableHosts::Session& session) {
        const Instant deadline = session.world.executor.now() + kCallDeadline;
        if (participants.size() > 1) {
          return session.tablets.decide(coordinator, participants, deadline);
        }
        const Participant& only = participants.front();
        return session.tablets.commit(only.tablet, only.write, deadline);
      };
  const auto answer = co_await ask<Timestamp>(call);
  history_.tally.add(command, answer_of(answer));
  if (history_.verbose()) {
    const std::string how = !answer   ? "timeout"
                            : *answer ? fmt::format("committed at {}", **answer)
                                      : (*answer).error().message();
    history_.say(fmt::format("{} over {} tablets: {}", told, participants.size(), how));
  }
  if (answer && *answer) {
    model_.committed(number, **answer, floor);
    co_return Fate::kCommitted;
  }
  if (answer && is_refusal((*answer).error().code)) {
    if ((*answer).error().code == Errc::kInvalidArgument) {
      history_.fail(fmt::format("{}: {}", told, (*answer).error().message()));
    }
    model_.refused(number);
    co_return Fate::kRefused;
  }
  model_.unknown(number);
  co_return Fate::kUnknown;
}

Task<void> TableClients::look_on_node(TableHosts::Hold running, RowName row,
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
  reply->set(Result<std::vector<FoundVersion>>(versions_of(*found)));
}

// nullopt: it could not be looked at.
Task<std::optional<std::vector<FoundVersion>>> TableClients::look(RowName row) {
  auto reply = std::make_shared<OneShot<std::optional<Result<std::vector<FoundVersion>>>>>();
  // Nobody holds the tablet while it waits: its node may end meanwhile.
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
  if (!answer || !*answer) {
    if (history_.verbose()) {
      history_.say(fmt::format("{} cannot be looked at: {}", to_string(row),
                               answer ? (*answer).error().message() : "timeout"));
    }
    co_return std::nullopt;
  }
  co_return **answer;
}

}  // namespace moraine::sim

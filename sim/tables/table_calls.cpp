// Requests of clients to tables, recorded in the model.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/tables/table_clients.h"

namespace moraine::sim {
namespace {

constexpr std::size_t kPastMax = 400;

// The request had no effect, and will have none.
bool is_refusal(Errc code) {
  return code != Errc::kUnknownOutcome;
}

template <class T>
TableAnswer answer_of(const Answer<T>& answer) {
  if (!answer) return TableAnswer::kTimeout;
  if (*answer) return TableAnswer::kOk;
  const Errc code = (*answer).error().code;
  if (code == Errc::kAborted) return TableAnswer::kAborted;
  return is_refusal(code) ? TableAnswer::kRefused : TableAnswer::kUnknown;
}

}  // namespace

Task<std::optional<Timestamp>> TableClients::draw() {
  const Timestamp floor = model_.floor();
  const Answer<Timestamp> given = co_await access_.timestamp();
  history_.tally.add(TableCommand::kTimestamp, answer_of(given));
  if (!given || !*given) co_return std::nullopt;
  model_.drawn(**given, floor);
  past_.push_back(**given);
  if (past_.size() > kPastMax) past_.pop_front();
  co_return **given;
}

Task<void> TableClients::read_part(Rows rows, Timestamp at, std::optional<Seen>& out) {
  const Instant began = history_.now();
  const auto answer = co_await access_.read(rows, at);
  if (!answer || !*answer) {
    if (history_.verbose()) {
      history_.say(answer ? (*answer).error().message() : "a read took too long");
    }
    if (answer && (*answer).error().code == Errc::kCorrupt) {
      history_.fail(fmt::format("{}: {}", to_string(rows.front()), (*answer).error().message()));
    }
    co_return;
  }
  out.emplace();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out->emplace_back(rows[i], (**answer)[i]);
    model_.seen({rows[i], at, began, (**answer)[i]});
  }
}

Task<std::optional<TableClients::Seen>> TableClients::read(Rows rows, Timestamp at,
                                                           TableCommand command) {
  std::map<std::uint64_t, Rows> by_place;
  std::ranges::sort(rows);
  for (const RowName& row : rows) by_place[access_.place_of(row)].push_back(row);
  std::vector<std::optional<Seen>> parts(by_place.size());
  TaskScope reads;
  std::size_t i = 0;
  for (const auto& [place, of_place] : by_place) reads.spawn(read_part(of_place, at, parts[i++]));
  co_await reads.join();
  co_await yield(world_.executor());
  const bool all = std::ranges::all_of(parts, [](const auto& part) { return part.has_value(); });
  history_.tally.add(command, all ? TableAnswer::kOk : TableAnswer::kFailed);
  if (!all) co_return std::nullopt;
  Seen seen;
  for (const auto& part : parts) seen.insert(seen.end(), part->begin(), part->end());
  co_return seen;
}

bool TableClients::in_one_place(const std::vector<PlannedChange>& changes) const {
  return std::ranges::all_of(changes, [&](const PlannedChange& change) {
    return access_.place_of(change.row) == access_.place_of(changes.front().row);
  });
}

Task<TableClients::Ending> TableClients::commit(ModelTransaction transaction,
                                                TableCommand command) {
  const std::uint64_t number = transaction.number;
  std::string text = fmt::format("transaction {} from {}", number, transaction.start);
  for (const PlannedChange& change : transaction.changes) {
    if (!history_.verbose()) break;
    text += fmt::format(" [{}: kind {} value {}]", to_string(change.row),
                        static_cast<int>(change.kind), change.value);
  }
  const Timestamp floor = std::max(model_.floor(), transaction.start);
  model_.sent(transaction);
  const Answer<Timestamp> answer = co_await access_.commit(std::move(transaction));
  history_.tally.add(command, answer_of(answer));
  if (history_.verbose()) {
    const std::string how = !answer   ? "timeout"
                            : *answer ? fmt::format("committed at {}", **answer)
                                      : (*answer).error().message();
    history_.say(fmt::format("{}: {}", text, how));
  }
  if (answer && *answer) {
    model_.committed(number, **answer, floor);
    co_return Ending{Fate::kCommitted, false, {}};
  }
  if (answer && is_refusal((*answer).error().code)) {
    const Error& error = (*answer).error();
    if (error.code == Errc::kInvalidArgument) {
      history_.fail(fmt::format("{}: {}", text, error.message()));
    }
    model_.refused(number);
    co_return Ending{Fate::kRefused, error.code == Errc::kAborted, error.message()};
  }
  model_.unknown(number);
  co_return Ending{Fate::kUnknown, false, {}};
}

// nullopt: it could not be read.
Task<std::optional<std::vector<FoundVersion>>> TableClients::look(RowName row) {
  const auto answer = co_await access_.look(row);
  if (answer && *answer) co_return **answer;
  if (history_.verbose()) {
    history_.say(fmt::format("{} cannot be read: {}", to_string(row),
                             answer ? (*answer).error().message() : "timeout"));
  }
  co_return std::nullopt;
}

}  // namespace moraine::sim

#include "transaction/tablet_server.h"

#include <deque>

#include "io/sync.h"

namespace moraine {
namespace {

using table::ColumnBatch;
using table::ColumnVector;
using table::TabletScan;

constexpr std::size_t kReplyBytesMax = kFrameBytesMax / 2;

TabletReply failed(Error error) {
  TabletReply reply;
  reply.status = std::unexpected(std::move(error));
  return reply;
}

TabletReply replied(const Result<void>& result) {
  return result ? TabletReply{} : failed(result.error());
}

TabletReply replied(const Result<Timestamp>& result) {
  if (!result) return failed(result.error());
  TabletReply reply;
  reply.timestamp = *result;
  return reply;
}

TabletReply unserved() {
  return failed({Errc::kInvalidArgument, "the tablet does not serve such requests"});
}

Value cell(const ColumnVector& column, std::size_t row) {
  if (!column.nulls.empty() && column.nulls[row] != 0) return {};
  switch (column.type) {
    case ValueType::kNull: return {};
    case ValueType::kInt64: return static_cast<std::int64_t>(column.words[row]);
    case ValueType::kUint64: return column.words[row];
    case ValueType::kDouble: return std::bit_cast<double>(column.words[row]);
    case ValueType::kBoolean: return column.words[row] != 0;
    case ValueType::kString: return column.texts[row];
    case ValueType::kAny: return Value::any(column.texts[row]);
  }
  return {};
}

// The i-th cell comes from `get(i)`.
template <class Get>
std::string image_of(std::size_t columns, const Get& get) {
  std::string image;
  table::begin_image(image);
  std::uint16_t cells = 0;
  for (std::size_t i = 0; i < columns; ++i) {
    const Value value = get(i);
    if (value.is_null()) continue;
    table::append_cell(image, static_cast<table::ColumnIndex>(i), false, value);
    ++cells;
  }
  table::finish_image(image, cells);
  return image;
}

Result<void> check_columns(const std::vector<table::ColumnIndex>& columns,
                           const TableSchema& schema) {
  for (const table::ColumnIndex column : columns) {
    if (column >= schema.columns.size()) return fail(Errc::kInvalidArgument, "no such column");
  }
  return {};
}

}  // namespace

// One incarnation of something that runs here.
struct TabletServer::Served {
  struct Answer {
    Timestamp requested = 0;
    std::optional<TabletReply> reply;
    std::vector<std::shared_ptr<OneShot<bool>>> followers;
  };

  TabletId id;
  std::shared_ptr<table::TableTablet> table;
  std::shared_ptr<Coordinator> coordinator;
  std::shared_ptr<TimestampOracle> oracle;
  std::size_t calls = 0;
  Timestamp began = kMaxTimestamp;  // Commits that were requested before are refused.
  std::map<TransactionId, std::shared_ptr<Answer>> answers;
  std::deque<TransactionId> order;  // Oldest first.

  const void* running() const {
    if (table) return table.get();
    return coordinator ? static_cast<const void*>(coordinator.get()) : oracle.get();
  }
  void remember(const TransactionId& id_of, std::shared_ptr<Answer> answer) {
    answers[id_of] = std::move(answer);
    order.push_back(id_of);
    while (order.size() > kAnswersMax && answers.at(order.front())->reply) {
      began = std::max(began, answers.at(order.front())->requested + 1);
      answers.erase(order.front());
      order.pop_front();
    }
  }
};

struct TabletServer::State {
  std::map<TabletId, Hold> served;
  std::map<const void*, std::weak_ptr<Served>> by_object;
};

TabletServer::TabletServer(Network& network) : state_(std::make_shared<State>()) {
  network.serve([state = state_](NodeId, Slice frame) { return answer(state, std::move(frame)); });
}

TabletServer::~TabletServer() {
  state_->served.clear();
}

// Registered first: every request refused before that is older than the timestamp acquired now.
Task<Result<void>> TabletServer::open(TabletId id, Hold served, TimestampSource& timestamps) {
  served->id = id;
  state_->served[id] = served;
  state_->by_object[served->running()] = served;
  CO_TRY(served->began, co_await timestamps.next());
  co_return Result<void>();
}

Task<Result<void>> TabletServer::add(TabletId id, std::shared_ptr<table::TableTablet> tablet,
                                     TimestampSource& timestamps) {
  auto served = std::make_shared<Served>();
  served->table = std::move(tablet);
  return open(id, std::move(served), timestamps);
}

Task<Result<void>> TabletServer::add(TabletId id, std::shared_ptr<Coordinator> coordinator,
                                     TimestampSource& timestamps) {
  auto served = std::make_shared<Served>();
  served->coordinator = std::move(coordinator);
  return open(id, std::move(served), timestamps);
}

void TabletServer::add(TabletId id, std::shared_ptr<TimestampOracle> oracle) {
  auto served = std::make_shared<Served>();
  served->id = id;
  served->oracle = std::move(oracle);
  state_->served[id] = served;
  state_->by_object[served->running()] = served;
}

void TabletServer::remove(const void* served) {
  std::erase_if(state_->served,
                [served](const auto& one) { return one.second->running() == served; });
  std::erase_if(state_->by_object, [](const auto& one) { return one.second.expired(); });
}

std::size_t TabletServer::calls(const void* served) const {
  const auto found = state_->by_object.find(served);
  if (found == state_->by_object.end()) return 0;
  const Hold hold = found->second.lock();
  return hold ? hold->calls : 0;
}

Task<Slice> TabletServer::answer(std::shared_ptr<State> state, Slice frame) {
  Result<TabletRequest> request = decode_tablet_request(frame);
  frame = {};
  if (!request) co_return encode(failed(request.error()));
  const std::size_t kind = request->call.index();
  TabletReply reply;
  const auto found = state->served.find(request->tablet);
  if (found == state->served.end()) {
    reply = failed(
        {Errc::kNotHere, fmt::format("tablet {} is not running here", request->tablet.value)});
  } else {
    const Hold served = found->second;
    ++served->calls;
    reply = co_await serve(served, std::move(request->call));
    --served->calls;
  }
  reply.kind = kind;
  co_return encode(reply);
}

Task<TabletReply> TabletServer::serve(Hold served, TabletCall call) {
  if (served->table) return serve_table(std::move(served), std::move(call));
  return serve_coordinator(std::move(served), std::move(call));
}

Task<TabletReply> TabletServer::serve_table(Hold served, TabletCall call) {
  table::TableTablet& tablet = *served->table;
  if (auto* commit = std::get_if<CommitCall>(&call)) {
    const TransactionId id = commit->write.transaction;
    const Timestamp requested = commit->write.commit_requested();
    co_return co_await once(served, id, requested, tablet.commit(std::move(commit->write)));
  }
  if (auto* prepare = std::get_if<PrepareCall>(&call)) {
    co_return replied(co_await tablet.prepare(std::move(prepare->write), prepare->coordinator));
  }
  if (const auto* decided = std::get_if<CommitPreparedCall>(&call)) {
    co_return replied(co_await tablet.commit_prepared(decided->id, decided->commit));
  }
  if (const auto* aborted = std::get_if<AbortPreparedCall>(&call)) {
    co_return replied(co_await tablet.abort_prepared(aborted->id));
  }
  if (auto* lookup = std::get_if<LookupCall>(&call)) {
    co_return co_await look_up(served, std::move(*lookup));
  }
  if (auto* wanted = std::get_if<ScanCall>(&call)) co_return co_await scan(served, *wanted);
  co_return unserved();
}

Task<TabletReply> TabletServer::serve_coordinator(Hold served, TabletCall call) {
  if (served->oracle) {
    if (!std::holds_alternative<NextTimestampCall>(call)) co_return unserved();
    co_return replied(co_await served->oracle->next());
  }
  Coordinator& coordinator = *served->coordinator;
  if (auto* decide = std::get_if<DecideCall>(&call)) {
    if (decide->participants.empty()) co_return unserved();
    const TransactionId id = decide->participants.front().write.transaction;
    const Timestamp requested = decide->participants.front().write.commit_requested();
    co_return co_await once(served, id, requested,
                            coordinator.commit(std::move(decide->participants)));
  }
  const auto* asked = std::get_if<OutcomeCall>(&call);
  if (!asked) co_return unserved();
  const TransactionOutcome outcome = coordinator.outcome(asked->id);
  if (outcome.kind == TransactionOutcome::Kind::kAborted) {
    const Result<void> leads = co_await coordinator.confirm_lead();
    if (!leads) co_return failed(leads.error());
  }
  TabletReply reply;
  reply.outcome = outcome.kind;
  reply.timestamp = outcome.commit;
  co_return reply;
}

Task<TabletReply> TabletServer::once(Hold served, TransactionId id, Timestamp requested,
                                     Task<Result<Timestamp>> work) {
  const auto found = served->answers.find(id);
  if (found != served->answers.end()) {
    const std::shared_ptr<Served::Answer> known = found->second;
    if (!known->reply) {
      auto ended = std::make_shared<OneShot<bool>>();
      known->followers.push_back(ended);
      co_await *ended;
    }
    co_return *known->reply;
  }
  if (requested < served->began) {
    co_return failed({Errc::kUnknownOutcome,
                      "the commit was requested before this incarnation of the tablet began"});
  }
  auto answer = std::make_shared<Served::Answer>();
  answer->requested = requested;
  served->remember(id, answer);
  answer->reply = replied(co_await std::move(work));
  for (const auto& follower : std::exchange(answer->followers, {})) follower->set(true);
  co_return *answer->reply;
}

Task<TabletReply> TabletServer::look_up(Hold served, LookupCall call) {
  table::TableTablet& tablet = *served->table;
  const TableSchema& schema = *tablet.settings().schema;
  TabletReply reply;
  reply.status = check_columns(call.columns, schema);
  for (const std::string& key : call.keys) {
    if (reply.status) reply.status = table::check_key(as_bytes(key), schema);
  }
  if (!reply.status) co_return reply;
  const std::vector<std::string_view> keys(call.keys.begin(), call.keys.end());
  table::LookupRequest request;
  request.keys = keys;
  request.columns = call.columns;
  request.timestamp = call.timestamp;
  Rowset rows;
  reply.status = co_await tablet.reader().lookup(request, rows);
  if (reply.status) reply.status = co_await tablet.confirm_lead();
  if (!reply.status) co_return reply;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    FoundRow row;
    row.exists = rows.exists(i);
    if (row.exists) {
      row.image =
          image_of(call.columns.size(), [&](std::size_t column) { return rows.at(i, column); });
    }
    bytes += row.image.size();
    reply.rows.push_back(std::move(row));
  }
  if (bytes > kReplyBytesMax) {
    co_return failed({Errc::kInvalidArgument, fmt::format("{} bytes of rows", bytes)});
  }
  co_return reply;
}

// Key columns are read too, after the requested ones, to build each row's key.
Task<TabletReply> TabletServer::scan(Hold served, ScanCall call) {
  table::TableTablet& tablet = *served->table;
  const TableSchema& schema = *tablet.settings().schema;
  TabletReply reply;
  reply.status = check_columns(call.columns, schema);
  if (!reply.status) co_return reply;
  table::ScanRequest request;
  request.bounds = call.bounds;
  request.columns = call.columns;
  for (std::size_t i = 0; i < schema.key_count(); ++i) {
    request.columns.push_back(static_cast<table::ColumnIndex>(i));
  }
  request.timestamp = call.timestamp;
  auto rows = tablet.reader().scan(std::move(request));
  if (!rows) co_return failed(rows.error());
  ColumnBatch batch;
  std::size_t bytes = 0;
  for (bool ended = false; !ended && !reply.more;) {
    const auto step = (*rows)->next(batch);
    if (!step) co_return failed(step.error());
    ended = *step == TabletScan::Step::kEnd;
    if (*step == TabletScan::Step::kNeedsData) {
      const auto loaded = co_await (*rows)->load();
      if (!loaded) co_return failed(loaded.error());
    }
    if (*step != TabletScan::Step::kRows) continue;
    for (std::size_t i = 0; i < batch.rows && !reply.more; ++i) {
      reply.more = reply.rows.size() == call.rows_max || bytes > kReplyBytesMax;
      if (reply.more) break;
      const auto get = [&](std::size_t column) { return cell(batch.columns[column], i); };
      FoundRow row;
      row.exists = true;
      row.image = image_of(call.columns.size(), get);
      for (std::size_t k = 0; k < schema.key_count(); ++k) {
        table::append_key_column(row.key, get(call.columns.size() + k));
      }
      bytes += row.key.size() + row.image.size();
      reply.rows.push_back(std::move(row));
    }
  }
  reply.status = co_await tablet.confirm_lead();
  if (!reply.status) reply.rows.clear();
  co_return reply;
}

}  // namespace moraine

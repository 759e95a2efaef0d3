#include "transaction/tablet_server.h"

#include <algorithm>
#include <deque>

#include "io/event.h"
#include "io/run_on.h"
#include "table/model/schema_codec.h"
#include "transaction/read_tablet.h"

namespace moraine {
namespace {

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

// The first keys of a lookup are read together, then twice as many, as far as their rows fit the
// reply if none is longer than those before.
constexpr std::size_t kLookupSliceFirst = 16;
constexpr std::size_t kLookupSliceMax = 256;

std::string image_of(std::span<const Value> row) {
  std::string image;
  table::begin_image(image);
  std::uint16_t cells = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i].is_null()) continue;
    table::append_cell(image, static_cast<table::ColumnIndex>(i), false, row[i]);
    ++cells;
  }
  table::finish_image(image, cells);
  return image;
}

// The memory of a reply while it is read: as read, and as encoded.
std::size_t reply_room(const TabletCall& call) {
  if (const auto* lookup = std::get_if<LookupCall>(&call)) {
    return 2 * std::min(lookup->keys.size() * kKeyReplyBytes, kRowBytesPerReply);
  }
  const bool page = std::holds_alternative<ScanCall>(call);
  return page || std::holds_alternative<VersionsCall>(call) ? 2 * kPageBytesMax : 0;
}

// Rows of a reply to a lookup.
class FoundRows {
 public:
  explicit FoundRows(std::vector<FoundRow>& rows) : rows_(rows) {}
  // How many keys to read next.
  std::size_t wanted() const {
    return std::clamp<std::size_t>(
        (kRowBytesPerReply - bytes_) / std::max(longest_, std::size_t{1}), 1, slice_);
  }
  // False: the reply is full.
  bool add(const Rowset& rows) {
    for (std::size_t i = 0; i < rows.rows(); ++i) {
      FoundRow row;
      row.exists = rows.exists(i);
      if (row.exists) row.image = image_of(rows.row(i));
      if (bytes_ + row.image.size() > kRowBytesPerReply && !rows_.empty()) return false;
      bytes_ += row.image.size();
      longest_ = std::max(longest_, row.image.size());
      rows_.push_back(std::move(row));
    }
    slice_ = std::min(slice_ * 2, kLookupSliceMax);
    return bytes_ < kRowBytesPerReply;
  }

 private:
  std::vector<FoundRow>& rows_;
  std::size_t bytes_ = 0;
  std::size_t longest_ = 0;
  std::size_t slice_ = kLookupSliceFirst;
};

}  // namespace

// One incarnation of something that runs here.
struct TabletServer::Served {
  struct Answer {
    explicit Answer(Executor& executor) : ended(executor) {}
    Timestamp requested = 0;
    std::optional<Result<Timestamp>> result;
    Event ended;  // `result` is set.
  };

  explicit Served(Executor& its_executor) : executor(its_executor) {}

  Executor& executor;  // The network's.
  TabletId id;
  std::shared_ptr<table::TableTablet> table;
  std::shared_ptr<Coordinator> coordinator;
  std::shared_ptr<TimestampOracle> oracle;
  std::uint64_t schema = 0;  // Its fingerprint, of a table.
  std::size_t calls = 0;
  Timestamp began = kMaxTimestamp;  // Commits that were requested before are refused.
  std::map<TransactionId, std::shared_ptr<Answer>> answers;
  std::deque<TransactionId> order;  // Oldest first.

  const void* running() const {
    if (table) return table.get();
    return coordinator ? static_cast<const void*>(coordinator.get()) : oracle.get();
  }
  // Whether a request was made for the schema of the tablet.
  Result<void> check_schema(std::uint64_t made_for) const {
    if (made_for == 0 || made_for == schema) return {};
    return fail(Errc::kInvalidArgument,
                fmt::format("the schema of {} has changed: open the table again",
                            table->settings().table_path));
  }
  void remember(const TransactionId& id_of, std::shared_ptr<Answer> answer) {
    answers[id_of] = std::move(answer);
    order.push_back(id_of);
    while (order.size() > kAnswersMax && answers.at(order.front())->result) {
      began = std::max(began, answers.at(order.front())->requested + 1);
      answers.erase(order.front());
      order.pop_front();
    }
  }
};

struct TabletServer::State {
  explicit State(Executor& its_executor) : executor(its_executor), idle(its_executor) {}
  // Nothing: the request is served. Else why not.
  Result<void> check_room(std::size_t request_bytes, std::size_t reply_bytes) const {
    if (calls >= kServedCallsMax || bytes + request_bytes > kServedBytesMax) {
      return fail(Errc::kOverloaded, fmt::format("{} requests are being served", calls));
    }
    if (replies + reply_bytes > kServedReplyBytesMax) {
      return fail(Errc::kOverloaded,
                  fmt::format("replies being read take {} MiB, all that they may", replies >> 20));
    }
    return {};
  }

  Executor& executor;
  std::size_t calls = 0;
  std::size_t bytes = 0;    // Of requests.
  std::size_t replies = 0;  // Room taken for replies.
  Event idle;               // `calls` has become 0.
  std::map<TabletId, Hold> served;
  std::map<const void*, std::weak_ptr<Served>> by_object;
};

TabletServer::TabletServer(Network& network, Executor& executor)
    : state_(std::make_shared<State>(executor)) {
  network.serve([state = state_](NodeId, Slice frame) { return answer(state, std::move(frame)); });
}

TabletServer::~TabletServer() {
  close();
}

void TabletServer::close() {
  state_->served.clear();
}

std::size_t TabletServer::calls() const {
  return state_->calls;
}

Task<void> TabletServer::wait_idle() {
  const std::shared_ptr<State> state = state_;
  while (state->calls > 0) co_await state->idle.wait();
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
  auto served = std::make_shared<Served>(state_->executor);
  served->schema = table::schema_fingerprint(*tablet->settings().schema);
  served->table = std::move(tablet);
  return open(id, std::move(served), timestamps);
}

Task<Result<void>> TabletServer::add(TabletId id, std::shared_ptr<Coordinator> coordinator,
                                     TimestampSource& timestamps) {
  auto served = std::make_shared<Served>(state_->executor);
  served->coordinator = std::move(coordinator);
  return open(id, std::move(served), timestamps);
}

void TabletServer::add(TabletId id, std::shared_ptr<TimestampOracle> oracle) {
  auto served = std::make_shared<Served>(state_->executor);
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
  const std::size_t bytes = frame.size();
  Result<TabletRequest> request = decode_tablet_request(frame);
  frame = {};
  if (!request) co_return encode(failed(request.error()));
  const std::size_t kind = request->call.index();
  const Instant deadline = state->executor.now() + std::chrono::microseconds(request->timeout_us);
  const std::size_t room = reply_room(request->call);
  TabletReply reply;
  const auto found = state->served.find(request->tablet);
  if (found == state->served.end()) {
    reply = failed(
        {Errc::kNotHere, fmt::format("tablet {} is not running here", request->tablet.value)});
  } else if (const Result<void> fits = state->check_room(bytes, room); !fits) {
    reply = failed(fits.error());
  } else {
    const Hold served = found->second;
    ++served->calls;
    ++state->calls;
    state->bytes += bytes;
    state->replies += room;
    reply = co_await serve(served, std::move(request->call), deadline);
    --served->calls;
    state->bytes -= bytes;
    state->replies -= room;
    if (--state->calls == 0) state->idle.notify_all();
  }
  reply.kind = kind;
  Slice encoded = encode(reply);
  if (encoded.size() > kFrameBytesMax) {
    reply = failed({Errc::kInvalidArgument,
                    fmt::format("a row of {} bytes is too long for a message between nodes: read "
                                "fewer columns",
                                encoded.size())});
    reply.kind = kind;
    encoded = encode(reply);
  }
  co_return encoded;
}

Task<TabletReply> TabletServer::serve(Hold served, TabletCall call, Instant deadline) {
  if (served->table) return serve_table(std::move(served), std::move(call), deadline);
  return serve_coordinator(std::move(served), std::move(call));
}

Task<TabletReply> TabletServer::serve_table(Hold served, TabletCall call, Instant deadline) {
  table::TableTablet& tablet = *served->table;
  Executor& home = tablet.executor();
  if (auto* commit = std::get_if<CommitCall>(&call)) {
    const TransactionId id = commit->write.transaction;
    const Timestamp requested = commit->write.commit_requested();
    co_return co_await once(served, id, requested, run_there(home, [&] {
                              return tablet.commit(std::move(commit->write));
                            }));
  }
  if (auto* prepare = std::get_if<PrepareCall>(&call)) {
    co_return replied(co_await run_there(
        home, [&] { return tablet.prepare(std::move(prepare->write), prepare->coordinator); }));
  }
  if (const auto* decided = std::get_if<CommitPreparedCall>(&call)) {
    co_return replied(co_await run_there(
        home, [&] { return tablet.commit_prepared(decided->id, decided->commit); }));
  }
  if (const auto* aborted = std::get_if<AbortPreparedCall>(&call)) {
    co_return replied(co_await run_there(home, [&] { return tablet.abort_prepared(aborted->id); }));
  }
  if (auto* lookup = std::get_if<LookupCall>(&call)) {
    co_return co_await run_there(home,
                                 [&] { return look_up(served, std::move(*lookup), deadline); });
  }
  if (auto* wanted = std::get_if<ScanCall>(&call)) {
    co_return co_await run_there(home, [&] { return scan(served, std::move(*wanted), deadline); });
  }
  if (auto* wanted = std::get_if<VersionsCall>(&call)) {
    co_return co_await run_there(home,
                                 [&] { return versions(served, std::move(*wanted), deadline); });
  }
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
    while (!known->result) co_await known->ended.wait();
    co_return replied(*known->result);
  }
  if (requested < served->began) {
    co_return failed({Errc::kUnknownOutcome,
                      "the commit was requested before this incarnation of the tablet began"});
  }
  auto answer = std::make_shared<Served::Answer>(served->executor);
  answer->requested = requested;
  served->remember(id, answer);
  answer->result = co_await std::move(work);
  answer->ended.notify_all();
  co_return replied(*answer->result);
}

Task<TabletReply> TabletServer::look_up(Hold served, LookupCall call, Instant deadline) {
  table::TableTablet& tablet = *served->table;
  TabletReply reply;
  reply.status = served->check_schema(call.schema);
  if (!reply.status) co_return reply;
  const std::vector<std::string_view> keys(call.keys.begin(), call.keys.end());
  table::LookupRequest request;
  request.columns = call.columns;
  request.timestamp = call.times.timestamp;
  request.retention_timestamp = call.times.retention_timestamp;
  request.in_transaction = call.times.in_transaction;
  request.use_lookup_cache = call.use_lookup_cache;
  Rowset rows;
  FoundRows found(reply.rows);
  for (std::span<const std::string_view> left = keys;;) {
    request.keys = left.first(std::min(found.wanted(), left.size()));
    const Result<void> read = co_await read_rows(tablet, nullptr, request, rows, deadline);
    if (!read) co_return failed(read.error());
    left = left.subspan(request.keys.size());
    if (!found.add(rows) || left.empty()) break;
  }
  const Result<void> leads = co_await tablet.confirm_lead();
  if (!leads) co_return failed(leads.error());
  co_return reply;
}

Task<TabletReply> TabletServer::scan(Hold served, ScanCall call, Instant deadline) {
  table::TableTablet& tablet = *served->table;
  TabletReply reply;
  reply.status = served->check_schema(call.schema);
  if (!reply.status) co_return reply;
  table::ScanRequest request;
  request.bounds = std::move(call.bounds);
  request.columns = std::move(call.columns);
  request.filters = std::move(call.filters);
  request.conditions = std::move(call.conditions);
  request.timestamp = call.times.timestamp;
  request.retention_timestamp = call.times.retention_timestamp;
  request.in_transaction = call.times.in_transaction;
  request.row_limit = call.row_limit;
  Result<ScanPage> page = co_await read_page(tablet, nullptr, std::move(request), deadline);
  if (!page) co_return failed(page.error());
  reply.status = co_await tablet.confirm_lead();
  if (reply.status) reply.page = std::move(*page);
  co_return reply;
}

Task<TabletReply> TabletServer::versions(Hold served, VersionsCall call, Instant deadline) {
  table::TableTablet& tablet = *served->table;
  TabletReply reply;
  reply.status = served->check_schema(call.schema);
  if (!reply.status) co_return reply;
  Result<table::OwnedVersionedRow> row =
      co_await read_versions(tablet, nullptr, std::move(call.key), call.timestamp, deadline);
  if (!row) co_return failed(row.error());
  reply.status = co_await tablet.confirm_lead();
  if (reply.status) reply.versions = std::move(*row);
  co_return reply;
}

}  // namespace moraine

#include "transaction/remote_tablets.h"

#include <algorithm>

#include "io/run_on.h"
#include "table/model/schema_codec.h"

namespace moraine {
namespace {

constexpr Duration kAskTimeout = 1s;  // Of one request for a timestamp.
constexpr Duration kAskPause = 50ms;

Result<void> nothing(const Result<TabletReply>& reply) {
  if (!reply) return std::unexpected(reply.error());
  return {};
}

Result<Timestamp> timestamp_of(const Result<TabletReply>& reply) {
  if (!reply) return std::unexpected(reply.error());
  return reply->timestamp;
}

// Requests that change nothing: whether they were executed does not matter.
bool only_reads(const TabletCall& call) {
  return std::holds_alternative<LookupCall>(call) || std::holds_alternative<ScanCall>(call) ||
         std::holds_alternative<VersionsCall>(call) || std::holds_alternative<OutcomeCall>(call) ||
         std::holds_alternative<NextTimestampCall>(call);
}

std::uint64_t fingerprint_of(const SchemaPtr& schema) {
  return schema ? table::schema_fingerprint(*schema) : 0;
}

std::unexpected<Error> other_rows() {
  return fail(Errc::kUnavailable, "a reply does not fit its request");
}

std::unexpected<Error> being_stopped() {
  return fail(Errc::kUnavailable, "this node is being stopped");
}

// Keys from `at` on, as many as fit into one request, at most `keys_max`.
LookupCall lookup_from(std::size_t at, const table::LookupRequest& request, std::uint64_t schema,
                       std::size_t keys_max) {
  LookupCall call;
  call.schema = schema;
  call.times = {request.timestamp, request.retention_timestamp, request.in_transaction};
  call.columns.assign(request.columns.begin(), request.columns.end());
  call.use_lookup_cache = request.use_lookup_cache;
  keys_max = std::min(keys_max, keys_for(call.columns.size()));
  std::size_t bytes = 0;
  for (; at < request.keys.size() && call.keys.size() < keys_max; ++at) {
    bytes += request.keys[at].size();
    if (bytes > kKeyBytesPerCallMax && !call.keys.empty()) break;
    call.keys.emplace_back(request.keys[at]);
  }
  return call;
}

Result<void> fill_row(const FoundRow& found, Rowset& rows, std::size_t row) {
  if (!found.exists) return {};
  rows.set_exists(row);
  std::vector<table::VersionedValue> cells;
  table::read_image(as_bytes(found.image), kMinTimestamp, nullptr, cells);
  for (const table::VersionedValue& cell : cells) {
    if (cell.column >= rows.columns()) return other_rows();
    rows.cells(row)[cell.column] = rows.keep(cell.value);
  }
  return {};
}

// Moves texts, which borrow the reply, into memory of the row.
void own_texts(table::OwnedVersionedRow& row) {
  std::size_t bytes = 0;
  for (const table::VersionedValue& value : row.row.values) {
    if (value.value.has_text()) bytes += value.value.text().size();
  }
  row.memory.push_back(std::make_unique_for_overwrite<char[]>(std::max<std::size_t>(bytes, 1)));
  char* to = row.memory.back().get();
  for (table::VersionedValue& value : row.row.values) {
    if (!value.value.has_text()) continue;
    const std::string_view text = value.value.text();
    std::copy(text.begin(), text.end(), to);
    const std::string_view kept(to, text.size());
    value.value = value.value.type() == ValueType::kAny ? Value::any(kept) : Value(kept);
    to += text.size();
  }
}

}  // namespace

void RemoteTablets::close() {
  closed_ = true;
  for (const auto& [turn, answer] : in_flight_) {
    // From the executor's queue: the waiting code must not run inside close().
    executor_.post([answer] { answer->set(being_stopped()); });
  }
}

Task<void> RemoteTablets::deliver(Network& network, NodeId node, Slice frame, Instant deadline,
                                  std::shared_ptr<Answer> answer) {
  answer->set(co_await network.call(node, std::move(frame), deadline));
}

Task<Result<Slice>> RemoteTablets::exchange(NodeId node, Slice frame, Instant deadline) {
  const auto answer = std::make_shared<Answer>();
  const std::uint64_t turn = ++last_turn_;
  in_flight_[turn] = answer;
  spawn(deliver(network_, node, std::move(frame), deadline, answer));
  Result<Slice> got = co_await *answer;
  in_flight_.erase(turn);
  co_return got;
}

Task<Result<TabletReply>> RemoteTablets::call(TabletId tablet, TabletCall call, Instant deadline) {
  return run_there(executor_, [this, tablet, call = std::move(call), deadline]() mutable {
    return send(tablet, std::move(call), deadline);
  });
}

Task<Result<TabletReply>> RemoteTablets::send(TabletId tablet, TabletCall call, Instant deadline) {
  if (closed_) co_return being_stopped();
  const std::optional<NodeId> node = locate_(tablet);
  if (!node) {
    co_return fail(Errc::kNotHere, fmt::format("tablet {} has no known leader", tablet.value));
  }
  const Instant now = executor_.now();
  const Duration left = std::min(deadline - now, kCallTimeoutMax);
  if (left < 1us) {
    co_return fail(Errc::kTimeout, "the deadline has passed before the request was sent");
  }
  const std::size_t kind = call.index();
  const bool reads = only_reads(call);
  TabletRequest request{tablet, 0, std::move(call)};
  request.timeout_us = static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(left).count());
  Slice frame = encode(request);
  if (frame.size() > kFrameBytesMax) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("a request of {} bytes is too long", frame.size()));
  }
  const Result<Slice> answer = co_await exchange(*node, std::move(frame), now + left);
  if (!answer && (reads || answer.error().code == Errc::kOverloaded)) {
    co_return std::unexpected(answer.error());  // kOverloaded: nothing was sent.
  }
  if (!answer) co_return fail(Errc::kUnknownOutcome, answer.error().message());
  // The node may have executed the request although its reply is of another kind.
  const Errc unread = reads ? Errc::kUnavailable : Errc::kUnknownOutcome;
  Result<TabletReply> reply = decode_tablet_reply(*answer);
  if (!reply) co_return fail(unread, reply.error().message());
  if (reply->kind != kind) co_return fail(unread, "a reply to another request");
  if (!reply->status) co_return std::unexpected(reply->status.error());
  co_return reply;
}

Task<Result<Timestamp>> RemoteTablets::commit(TabletId tablet, TabletWrite write,
                                              Instant deadline) {
  co_return timestamp_of(co_await call(tablet, CommitCall{std::move(write)}, deadline));
}

Task<Result<void>> RemoteTablets::prepare(TabletId tablet, TabletWrite write, TabletId coordinator,
                                          Instant deadline) {
  co_return nothing(co_await call(tablet, PrepareCall{coordinator, std::move(write)}, deadline));
}

Task<Result<void>> RemoteTablets::commit_prepared(TabletId tablet, TransactionId id,
                                                  Timestamp commit, Instant deadline) {
  co_return nothing(co_await call(tablet, CommitPreparedCall{id, commit}, deadline));
}

Task<Result<void>> RemoteTablets::abort_prepared(TabletId tablet, TransactionId id,
                                                 Instant deadline) {
  co_return nothing(co_await call(tablet, AbortPreparedCall{id}, deadline));
}

Task<Result<Timestamp>> RemoteTablets::decide(TabletId coordinator,
                                              std::vector<Participant> participants,
                                              Instant deadline) {
  co_return timestamp_of(co_await call(coordinator, DecideCall{std::move(participants)}, deadline));
}

Task<Result<TransactionOutcome>> RemoteTablets::outcome(TabletId coordinator, TransactionId id,
                                                        Instant deadline) {
  CO_TRY(const TabletReply reply, co_await call(coordinator, OutcomeCall{id}, deadline));
  co_return TransactionOutcome{reply.outcome, reply.timestamp};
}

Task<Result<Timestamp>> RemoteTablets::next_timestamp(TabletId oracle, Instant deadline) {
  co_return timestamp_of(co_await call(oracle, NextTimestampCall{}, deadline));
}

Task<Result<void>> RemoteTablets::lookup(TabletId tablet, SchemaPtr schema,
                                         table::LookupRequest request, Rowset& rows,
                                         Instant deadline) {
  if (request.columns.size() > kColumnsPerCallMax) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("a lookup of {} columns; at most {} are possible",
                               request.columns.size(), kColumnsPerCallMax));
  }
  rows.reset(request.keys.size(), request.columns.size());
  const std::uint64_t fingerprint = fingerprint_of(schema);
  std::size_t at = 0;
  std::size_t keys_max = kKeysPerCallMax;
  do {
    LookupCall part = lookup_from(at, request, fingerprint, keys_max);
    const std::size_t asked = part.keys.size();
    CO_TRY(const TabletReply reply, co_await call(tablet, std::move(part), deadline));
    if (reply.rows.size() > asked || (reply.rows.empty() && asked > 0)) co_return other_rows();
    for (std::size_t i = 0; i < reply.rows.size(); ++i) {
      CO_TRY_VOID(fill_row(reply.rows[i], rows, at + i));
    }
    at += reply.rows.size();
    // After a full reply no more keys are sent than twice those that it answers.
    const std::size_t fit = reply.rows.size() < asked ? reply.rows.size() : keys_max;
    keys_max = std::min(2 * fit, kKeysPerCallMax);
  } while (at < request.keys.size());
  co_return Result<void>();
}

Task<Result<table::OwnedVersionedRow>> RemoteTablets::lookup_versions(
    TabletId tablet, SchemaPtr schema, std::string key, Timestamp timestamp, Instant deadline) {
  VersionsCall wanted{fingerprint_of(schema), timestamp, std::move(key)};
  CO_TRY(TabletReply reply, co_await call(tablet, std::move(wanted), deadline));
  for (const table::VersionedValue& value : reply.versions.row.values) {
    if (schema && value.column >= schema->columns.size()) co_return other_rows();
  }
  own_texts(reply.versions);
  co_return std::move(reply.versions);
}

Task<Result<ScanPage>> RemoteTablets::scan(TabletId tablet, SchemaPtr schema,
                                           table::ScanRequest request, Instant deadline) {
  const std::size_t filters = request.filters.size() + request.conditions.size();
  std::size_t intervals = 0;
  for (const table::ColumnCondition& condition : request.conditions) {
    intervals += condition.values.intervals().size();
  }
  if (request.columns.size() > kColumnsPerCallMax || filters > kFiltersPerCallMax ||
      intervals > kIntervalsPerCallMax) {
    co_return fail(
        Errc::kInvalidArgument,
        fmt::format("a scan of {} columns with {} filters of {} intervals; at most {}, {} and {} "
                    "are possible",
                    request.columns.size(), filters, intervals, kColumnsPerCallMax,
                    kFiltersPerCallMax, kIntervalsPerCallMax));
  }
  const std::size_t columns = request.columns.size();
  const std::string from = request.bounds.from;
  ScanCall wanted;
  wanted.schema = fingerprint_of(schema);
  wanted.times = {request.timestamp, request.retention_timestamp, request.in_transaction};
  wanted.columns = std::move(request.columns);
  wanted.bounds = std::move(request.bounds);
  wanted.row_limit = request.row_limit;
  wanted.filters = std::move(request.filters);
  wanted.conditions = std::move(request.conditions);
  CO_TRY(TabletReply reply, co_await call(tablet, std::move(wanted), deadline));
  ScanPage& page = reply.page;
  // A position that does not move would be read for ever.
  if (page.batch.columns.size() != columns || (!page.next.empty() && page.next <= from)) {
    co_return other_rows();
  }
  page.batch.memory.push_back(std::move(reply.memory));
  co_return std::move(page);
}

Task<Result<Timestamp>> RemoteTimestamps::next() {
  return run_there(executor_, [this] { return ask(); });
}

Task<Result<Timestamp>> RemoteTimestamps::ask() {
  const Instant end = executor_.now() + timeout_;
  for (;;) {
    const Instant deadline = std::min(end, executor_.now() + kAskTimeout);
    Result<Timestamp> given = co_await tablets_.next_timestamp(oracle_, deadline);
    if (given || tablets_.closed() || executor_.now() + kAskPause >= end) co_return given;
    co_await sleep_for(executor_, kAskPause);
  }
}

}  // namespace moraine

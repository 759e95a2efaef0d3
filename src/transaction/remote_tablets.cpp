#include "transaction/remote_tablets.h"

#include <algorithm>

#include "io/sync.h"

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

}  // namespace

Task<Result<TabletReply>> RemoteTablets::call(TabletId tablet, TabletCall call, Instant deadline) {
  const std::optional<NodeId> node = locate_(tablet);
  if (!node) {
    co_return fail(Errc::kNotHere, fmt::format("tablet {} has no known leader", tablet.value));
  }
  const std::size_t kind = call.index();
  Slice frame = encode(TabletRequest{tablet, std::move(call)});
  if (frame.size() > kFrameBytesMax) {
    co_return fail(Errc::kInvalidArgument,
                   fmt::format("a request of {} bytes is too long", frame.size()));
  }
  const Result<Slice> answer = co_await network_.call(*node, std::move(frame), deadline);
  if (!answer && answer.error().code == Errc::kOverloaded) {
    co_return std::unexpected(answer.error());  // Nothing was sent.
  }
  if (!answer) co_return fail(Errc::kUnknownOutcome, answer.error().message());
  Result<TabletReply> reply = decode_tablet_reply(*answer);
  // The node may have executed the request although its reply is of another kind.
  if (!reply) co_return fail(Errc::kUnknownOutcome, reply.error().message());
  if (reply->kind != kind) co_return fail(Errc::kUnknownOutcome, "a reply to another request");
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

Task<Result<std::vector<FoundRow>>> RemoteTablets::lookup(TabletId tablet, LookupCall wanted,
                                                          Instant deadline) {
  const std::size_t keys = wanted.keys.size();
  CO_TRY(TabletReply reply, co_await call(tablet, std::move(wanted), deadline));
  if (reply.rows.size() != keys) co_return fail(Errc::kUnavailable, "a reply with other rows");
  co_return std::move(reply.rows);
}

Task<Result<RemoteTablets::ScanPage>> RemoteTablets::scan(TabletId tablet, ScanCall wanted,
                                                          Instant deadline) {
  CO_TRY(TabletReply reply, co_await call(tablet, std::move(wanted), deadline));
  co_return ScanPage{std::move(reply.rows), reply.more};
}

Task<Result<Timestamp>> RemoteTimestamps::next() {
  const Instant end = executor_.now() + timeout_;
  for (;;) {
    const Instant deadline = std::min(end, executor_.now() + kAskTimeout);
    Result<Timestamp> given = co_await tablets_.next_timestamp(oracle_, deadline);
    if (given || executor_.now() + kAskPause >= end) co_return given;
    co_await sleep_for(executor_, kAskPause);
  }
}

}  // namespace moraine

#include "transaction/coordinator.h"

#include <algorithm>

#include "base/log.h"
#include "table/tablet/seeded_bug.h"

namespace moraine {

bool Coordinator::State::may_forget_oldest() const {
  if (acknowledged.empty()) return false;
  const auto age =
      unix_seconds(acknowledged.rbegin()->first) - unix_seconds(acknowledged.begin()->first);
  return acknowledged.size() > acknowledged_max_ ||
         age > static_cast<std::uint64_t>(repeat_max_.count());
}

void Coordinator::State::add(const Decision& decision) {
  Decision& known = decisions[decision.id] = decision;
  if (!decision.acknowledged) return;
  known.participants = {};  // The decision is not sent again.
  acknowledged[decision.commit] = decision.id;
  while (may_forget_oldest()) {
    forgotten = std::max(forgotten, acknowledged.begin()->first);
    decisions.erase(acknowledged.begin()->second);
    acknowledged.erase(acknowledged.begin());
  }
}

Result<void> Coordinator::State::restore(const std::vector<Slice>& pages) {
  for (const Slice& page : pages) {
    TRY(const Decisions found, decode_decisions(page));
    forgotten = std::max(forgotten, found.forgotten);
    for (const Decision& decision : found.known) add(decision);
  }
  return {};
}

Result<void> Coordinator::State::replay(const Slice& body) {
  TRY(const Decision decision, decode_decision(body));
  add(decision);
  return {};
}

std::vector<Slice> Coordinator::State::snapshot() const {
  Decisions all;
  all.forgotten = forgotten;
  for (const auto& [id, decision] : decisions) all.known.push_back(decision);
  return encode_decisions(all);
}

Coordinator::Coordinator(World world, TabletCalls& calls, TimestampSource& timestamps,
                         CoordinatorOptions options)
    : world_(world), calls_(calls), timestamps_(timestamps), options_(options), state_(options_) {}

Coordinator::~Coordinator() = default;

Task<Result<std::unique_ptr<Coordinator>>> Coordinator::boot(World world, BlobGroups& groups,
                                                             TabletInfo info, TabletCalls& calls,
                                                             TimestampSource& timestamps,
                                                             CoordinatorOptions options) {
  std::unique_ptr<Coordinator> made(new Coordinator(world, calls, timestamps, options));
  CO_TRY(made->leader_,
         co_await Leader::boot(world, groups, std::move(info), made->state_, options.leader));
  for (const auto& [id, decision] : made->state_.decisions) {
    made->newest_ = std::max(made->newest_, decision.commit);
    if (!decision.acknowledged) made->send_decision(decision);
  }
  co_return std::move(made);
}

Result<void> Coordinator::admit(const std::vector<Participant>& participants) const {
  if (leader_->ended()) return std::unexpected(*leader_->ended());
  if (scope_.closed()) return fail(Errc::kUnavailable, "the coordinator is stopping");
  if (participants.empty() || participants.size() > kParticipantsMax) {
    return fail(Errc::kInvalidArgument, fmt::format("a transaction over {} tablets; at most {}",
                                                    participants.size(), kParticipantsMax));
  }
  if (undecided_.size() + unacknowledged_ >= kUndecidedMax) {
    return fail(Errc::kOverloaded, fmt::format("{} transactions are being decided",
                                               undecided_.size() + unacknowledged_));
  }
  return {};
}

Task<Result<Timestamp>> Coordinator::commit(std::vector<Participant> participants) {
  if (participants.empty()) co_return fail(Errc::kInvalidArgument, "a transaction of no tablets");
  const TransactionId id = participants.front().write.transaction;
  if (const auto known = state_.decisions.find(id); known != state_.decisions.end()) {
    co_return known->second.commit;
  }
  if (const auto known = refused_.find(id); known != refused_.end()) {
    co_return std::unexpected(known->second);
  }
  if (const auto same = undecided_.find(id); same != undecided_.end()) {
    auto answer = std::make_shared<Answer>();
    same->second.push_back(answer);
    co_return co_await *answer;
  }
  CO_TRY_VOID(admit(participants));
  const Timestamp requested = participants.front().write.commit_requested();
  if (requested <= state_.forgotten) {
    co_return fail(Errc::kUnknownOutcome,
                   fmt::format("the commit of transaction {} is repeated too late: it may be among "
                               "the decisions that are forgotten",
                               to_string(id)));
  }
  if (requested <= refusals_forgotten_) {
    co_return fail(Errc::kAborted,
                   fmt::format("the commit of transaction {} was requested too long ago; nothing "
                               "was changed",
                               to_string(id)));
  }
  undecided_[id];
  Result<Timestamp> decided = co_await commit_new(id, std::move(participants));
  const auto followers = std::move(undecided_.extract(id).mapped());
  decided_.notify_all();
  // A commit with an unknown outcome is not recorded as refused: it may be repeated.
  if (!decided && decided.error().code != Errc::kUnknownOutcome) {
    remember_refusal(id, requested, decided.error());
  }
  for (const auto& follower : followers) follower->set(decided);
  co_return decided;
}

// Also a temporary error has ended this transaction: the client has to start a new one.
void Coordinator::remember_refusal(const TransactionId& id, Timestamp requested, Error error) {
  if (error.code == Errc::kOverloaded || error.code == Errc::kNoSpace) error.code = Errc::kAborted;
  refused_.emplace(id, std::move(error));
  refused_order_.emplace_back(id, requested);
  while (refused_order_.size() > options_.refused_max) {
    const auto& [oldest, oldest_requested] = refused_order_.front();
    refusals_forgotten_ = std::max(refusals_forgotten_, oldest_requested);
    refused_.erase(oldest);
    refused_order_.pop_front();
  }
}

Task<Result<Timestamp>> Coordinator::commit_new(TransactionId id,
                                                std::vector<Participant> participants) {
  std::vector<TabletId> tablets;
  for (const Participant& participant : participants) tablets.push_back(participant.tablet);
  std::vector<TabletId> held;
  Result<void> prepared = co_await prepare_all(std::move(participants), held);
  if (!prepared) {
    // Locks are released before the client is answered, so that a retry does not conflict with
    // them.
    std::erase_if(tablets, [&](TabletId one) { return std::ranges::count(held, one) > 0; });
    scope_.spawn(abort_all(id, std::move(tablets)));
    co_await abort_all(id, std::move(held));
    const Errc code = prepared.error().code;
    // Nothing was decided, and will not be: the outcome is known. kNotHere of a participant becomes
    // kAborted: from commit() it would mean the coordinator.
    const bool keeps = code == Errc::kAborted || code == Errc::kInvalidArgument ||
                       code == Errc::kOverloaded || code == Errc::kReadOnly ||
                       code == Errc::kNoSpace;
    co_return fail(keeps ? code : Errc::kAborted, prepared.error().context);
  }
  co_return co_await decide(id, std::move(tablets));
}

Task<Result<void>> Coordinator::prepare_all(std::vector<Participant> participants,
                                            std::vector<TabletId>& held) {
  const Instant deadline = world_.executor.now() + options_.prepare_timeout;
  std::ranges::sort(participants, {}, &Participant::tablet);
  std::vector<Result<void>> results(participants.size());
  std::vector<TabletId> tablets;
  for (const Participant& participant : participants) tablets.push_back(participant.tablet);
  // Appends wait for each other in their tablets: they are prepared one after another, always in
  // the same order, and while nothing else is held.
  std::vector<std::size_t> asked;
  std::vector<std::size_t> others;
  bool refused = false;
  for (std::size_t i = 0; i < participants.size(); ++i) {
    if (!participants[i].write.appends()) {
      others.push_back(i);
      continue;
    }
    if (refused) continue;
    asked.push_back(i);
    co_await prepare_one(std::move(participants[i]), deadline, results[i]);
    refused = !results[i];
  }
  if (refused) others.clear();
  TaskScope prepares;
  for (const std::size_t i : others) {
    asked.push_back(i);
    prepares.spawn(prepare_one(std::move(participants[i]), deadline, results[i]));
  }
  co_await prepares.join();
  // A refusal is more specific than a timeout.
  const Result<void>* failed = nullptr;
  for (const std::size_t i : asked) {
    const Result<void>& result = results[i];
    if (result) held.push_back(tablets[i]);
    if (result) continue;
    if (failed == nullptr || result.error().code == Errc::kAborted) failed = &result;
  }
  if (failed != nullptr) co_return *failed;
  co_return Result<void>{};
}

Task<void> Coordinator::prepare_one(Participant participant, Instant deadline, Result<void>& out) {
  out = co_await calls_.prepare(participant.tablet, std::move(participant.write), info().id,
                                deadline);
}

Task<Result<Timestamp>> Coordinator::decide(TransactionId id, std::vector<TabletId> participants) {
  Result<Timestamp> commit = co_await timestamps_.next();
  if (!commit) {
    scope_.spawn(abort_all(id, std::move(participants)));
    co_return fail(Errc::kAborted, "no commit timestamp: " + commit.error().message());
  }
  Decision decision;
  decision.id = id;
  decision.commit = *commit;
  decision.participants = std::move(participants);
  // Once the entry is being written, its outcome is in the log: no abort may be sent any more.
  bool sent = false;
  Result<void> logged = co_await log(decision, sent);
  if (!logged && sent) co_return fail(Errc::kUnknownOutcome, logged.error().message());
  if (!logged) {
    scope_.spawn(abort_all(id, std::move(decision.participants)));
    co_return fail(Errc::kAborted, "not decided: " + logged.error().message());
  }
  newest_ = std::max(newest_, decision.commit);
  send_decision(decision);
  co_return decision.commit;
}

Task<Result<void>> Coordinator::log(Decision decision, bool& sent) {
  CommitRequest request;
  request.body = [&decision, &sent](const std::vector<BlobId>&) {
    sent = true;
    return encode_decision(decision);
  };
  request.body_bytes_hint = encode_decision(decision).size();
  Leader::Confirmed confirmed = [this, decision](const std::vector<BlobId>&) {
    state_.add(decision);
  };
  co_return co_await leader_->commit(std::move(request), std::move(confirmed));
}

TransactionOutcome Coordinator::outcome(const TransactionId& id) const {
  const auto known = state_.decisions.find(id);
  if (known != state_.decisions.end()) {
    return {TransactionOutcome::Kind::kCommitted, known->second.commit};
  }
  if (undecided_.contains(id) || leader_->ended()) return {};
  if (has_bug(table::SeededBug::kOutcomeGuessed)) {
    return {TransactionOutcome::Kind::kCommitted, newest_ + 1};
  }
  return {TransactionOutcome::Kind::kAborted, 0};
}

void Coordinator::send_decision(const Decision& decision) {
  ++unacknowledged_;
  scope_.spawn(send_to_all(decision));
}

Task<void> Coordinator::send_to_all(Decision decision) {
  std::vector<char> acknowledged(decision.participants.size(), 0);
  TaskScope calls;
  for (std::size_t i = 0; i < acknowledged.size(); ++i) {
    calls.spawn(
        send_to_one(decision.participants[i], decision.id, decision.commit, acknowledged[i]));
  }
  co_await calls.join();
  --unacknowledged_;
  if (std::ranges::find(acknowledged, 0) != acknowledged.end() || leader_->ended()) co_return;
  decision.acknowledged = true;
  // A failure ends this incarnation; the next one sends the decision again.
  bool sent = false;
  (void)co_await log(std::move(decision), sent);
}

Task<void> Coordinator::send_to_one(TabletId tablet, TransactionId id, Timestamp commit,
                                    char& acknowledged) {
  Duration wait = options_.retry_min;
  while (!scope_.closed() && !leader_->ended()) {
    const Instant deadline = world_.executor.now() + options_.prepare_timeout;
    const Result<void> applied = co_await calls_.commit_prepared(tablet, id, commit, deadline);
    // A participant without a record of the transaction has finished and forgotten it: undecided
    // and committed transactions stay prepared until then.
    if (applied || applied.error().code == Errc::kNotFound) {
      acknowledged = 1;
      co_return;
    }
    log_debug("participant has not acknowledged a commit",
              {{"transaction", to_string(id)}, {"error", applied.error()}});
    co_await sleep_for(world_.executor, wait, scope_);
    wait = std::min(wait * 2, options_.retry_max);
  }
}

Task<void> Coordinator::abort_all(TransactionId id, std::vector<TabletId> participants) {
  TaskScope calls;
  for (const TabletId tablet : participants) calls.spawn(abort_one(tablet, id));
  co_await calls.join();
}

// Sent once: a participant that does not get it asks for the outcome.
Task<void> Coordinator::abort_one(TabletId tablet, TransactionId id) {
  const Instant deadline = world_.executor.now() + options_.prepare_timeout;
  (void)co_await calls_.abort_prepared(tablet, id, deadline);
}

// Commits in flight may still send aborts.
Task<void> Coordinator::stop() {
  scope_.close();
  while (!undecided_.empty()) co_await decided_.wait();
  co_await scope_.join();
  co_await leader_->stop(true);
}

void Coordinator::abandon() {
  scope_.close();
  leader_->abandon();
}

}  // namespace moraine

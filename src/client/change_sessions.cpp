#include "client/change_sessions.h"

namespace moraine {

ChangeSessions::~ChangeSessions() {
  for (auto& [name, session] : sessions_) drop_reply(session);
}

ChangeSessions::ChangePtr ChangeSessions::newest(std::uint64_t session,
                                                 std::uint64_t number) const {
  const auto found = sessions_.find(session);
  if (found == sessions_.end() || found->second.number != number) return nullptr;
  return found->second.newest;
}

std::expected<ChangeSessions::ChangePtr, Refusal> ChangeSessions::begin(std::uint64_t session,
                                                                        std::uint64_t number) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end() || found->second.closing || number != found->second.number + 1) {
    return std::unexpected(Refusal::kStaleSession);
  }
  Session& open = found->second;
  if (open.busy()) return std::unexpected(Refusal::kOverloaded);
  drop_reply(open);
  open.number = number;
  open.used = ++uses_;
  open.newest = std::make_shared<Change>(executor_);
  return open.newest;
}

void ChangeSessions::end(std::uint64_t session, const ChangePtr& change, Slice reply) {
  *kept_bytes_ += reply.size();
  change->reply = std::move(reply);
  change->ended.notify_all();
  while (*kept_bytes_ > kKeptReplyBytesMax && evict(session)) {
  }
}

void ChangeSessions::cancel(std::uint64_t session, const ChangePtr& change, Slice reply) {
  change->reply = std::move(reply);
  change->ended.notify_all();
  const auto found = sessions_.find(session);
  if (found == sessions_.end() || found->second.newest != change) return;
  --found->second.number;
  found->second.newest.reset();
}

std::optional<std::uint64_t> ChangeSessions::last_change(std::uint64_t session) const {
  if (const auto open = sessions_.find(session); open != sessions_.end()) {
    return open->second.number;
  }
  const auto found = closed_.find(session);
  if (found == closed_.end()) return std::nullopt;
  return found->second.number;
}

std::uint64_t ChangeSessions::open(std::uint64_t in_place_of) {
  const auto closed = closed_.find(in_place_of);
  if (closed != closed_.end()) {
    const auto known = sessions_.find(closed->second.successor);
    if (known != sessions_.end() && known->second.number == 0) return known->first;
  }
  if (sessions_.size() >= kChangeSessionsMax && !evict(0)) return 0;
  const std::uint64_t session = ++last_session_;
  sessions_[session].used = ++uses_;
  // The eviction may have forgotten it.
  if (const auto still = closed_.find(in_place_of); still != closed_.end()) {
    still->second.successor = session;
  }
  return session;
}

Task<bool> ChangeSessions::close(std::shared_ptr<ChangeSessions> sessions, std::uint64_t session) {
  const auto found = sessions->sessions_.find(session);
  if (found == sessions->sessions_.end()) co_return true;
  found->second.closing = true;
  if (found->second.newest && !co_await wait(found->second.newest)) co_return false;
  // Another request may have closed it meanwhile.
  const auto still = sessions->sessions_.find(session);
  if (still != sessions->sessions_.end()) sessions->erase(still);
  co_return true;
}

Task<bool> ChangeSessions::wait(ChangePtr change) {
  if (!change->reply && change->waiting >= kRepeatsWaitingMax) co_return false;
  ++change->waiting;
  while (!change->reply) co_await change->ended.wait();
  --change->waiting;
  co_return true;
}

void ChangeSessions::drop_reply(Session& session) {
  if (session.newest && session.newest->reply) *kept_bytes_ -= session.newest->reply->size();
  session.newest.reset();
}

void ChangeSessions::erase(Sessions::iterator session) {
  closed_[session->first] = {session->second.number, 0};
  if (closed_.size() > kClosedSessionsMax) closed_.erase(closed_.begin());
  drop_reply(session->second);
  sessions_.erase(session);
}

bool ChangeSessions::evict(std::uint64_t except) {
  auto oldest = sessions_.end();
  for (auto at = sessions_.begin(); at != sessions_.end(); ++at) {
    if (at->second.busy() || at->first == except) continue;
    if (oldest == sessions_.end() || at->second.used < oldest->second.used) oldest = at;
  }
  if (oldest == sessions_.end()) return false;
  erase(oldest);
  return true;
}

}  // namespace moraine

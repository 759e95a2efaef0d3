// ChangeSessions: the sessions in which other nodes change one incarnation of a partition.
//
// The changes of a session are numbered, and carried out one at a time. The network may deliver a
// request twice, and late: a change with the newest number of its session shares the result of the
// first delivery, and one of another number, or of a session that is closed, is refused.
//
// Promise    A change is carried out once, in the order of its session, and never after the close
//            of that has returned. Requests that close the same session all wait for its change,
//            and those that open another one in its place get the same one.
// Threading  One executor.
// Limits     kChangeSessionsMax sessions; past that, and when replies that are kept for
//            repetitions take more than kKeptReplyBytesMax on the node, the session that is idle
//            longest is closed. That loses no change: a caller opens another one. The last change
//            of a closed session is remembered for kClosedSessionsMax of them.
// Tests      change_sessions_test.cpp, remote_partition_test.cpp.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>

#include "client/partition_messages.h"
#include "io/event.h"

namespace moraine {

inline constexpr std::size_t kChangeSessionsMax = 4'096;
inline constexpr std::size_t kClosedSessionsMax = 4'096;
inline constexpr std::size_t kKeptReplyBytesMax = std::size_t{64} << 20;
inline constexpr std::size_t kRepeatsWaitingMax = 16;  // For the end of one change.

class ChangeSessions {
 public:
  // A change that is in flight or answered.
  struct Change {
    explicit Change(Executor& executor) : ended(executor) {}
    std::optional<Slice> reply;
    std::size_t waiting = 0;
    Event ended;
  };
  using ChangePtr = std::shared_ptr<Change>;

  // `kept_bytes` counts the replies of all partitions of the node.
  ChangeSessions(Executor& executor, std::shared_ptr<std::size_t> kept_bytes)
      : executor_(executor), kept_bytes_(std::move(kept_bytes)) {}
  ChangeSessions(const ChangeSessions&) = delete;
  ChangeSessions& operator=(const ChangeSessions&) = delete;
  ~ChangeSessions();

  // Null: the change is not the newest of its session.
  ChangePtr newest(std::uint64_t session, std::uint64_t number) const;
  // The caller ends or cancels it. kStaleSession, kOverloaded: another one is in flight.
  std::expected<ChangePtr, Refusal> begin(std::uint64_t session, std::uint64_t number);
  void end(std::uint64_t session, const ChangePtr& change, Slice reply);
  // It was not carried out, and may be begun again.
  void cancel(std::uint64_t session, const ChangePtr& change, Slice reply);

  // The number of the last change that was begun. nullopt: the session is not remembered.
  std::optional<std::uint64_t> last_change(std::uint64_t session) const;
  // In place of a session that was closed, or of none (0). 0: all sessions are busy.
  std::uint64_t open(std::uint64_t in_place_of);
  // Returns when the session is closed and no change of it is in flight. False: too many wait.
  static Task<bool> close(std::shared_ptr<ChangeSessions> sessions, std::uint64_t session);
  // Waits for the reply. False: too many wait.
  static Task<bool> wait(ChangePtr change);

  std::size_t size() const { return sessions_.size(); }

 private:
  struct Session {
    std::uint64_t number = 0;  // The newest change's.
    std::uint64_t used = 0;    // The greater, the later.
    ChangePtr newest;
    bool closing = false;
    bool busy() const { return closing || (newest && !newest->reply); }
  };
  struct Closed {
    std::uint64_t number = 0;
    std::uint64_t successor = 0;  // The session opened in its place.
  };
  using Sessions = std::map<std::uint64_t, Session>;

  void drop_reply(Session& session);
  void erase(Sessions::iterator session);
  // False: all are busy.
  bool evict(std::uint64_t except);

  Executor& executor_;
  const std::shared_ptr<std::size_t> kept_bytes_;
  std::uint64_t last_session_ = 0;  // Numbers of sessions are not used again.
  std::uint64_t uses_ = 0;
  Sessions sessions_;
  std::map<std::uint64_t, Closed> closed_;
};

}  // namespace moraine

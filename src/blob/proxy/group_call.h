// Commands that go to every disk of a group and need a group quorum: block, blocked generation,
// collect; and their common part.
#pragma once

#include <optional>
#include <string>

#include "blob/group/quorum.h"
#include "blob/proxy/context.h"
#include "blob/proxy/failures.h"
#include "blob/proxy/requests.h"

namespace moraine::blob {

// Which disks agreed and which did not: decides as soon as more answers cannot change the result.
class GroupTally {
 public:
  enum class State : std::uint8_t { kWaiting, kQuorum, kImpossible };

  explicit GroupTally(const Geometry& geometry) : geometry_(geometry) {}
  void agreed(std::uint32_t order) { agreed_ |= disk_bit(order); }
  void failed(std::uint32_t order) { failed_ |= disk_bit(order); }
  State state() const {
    if (group_quorum(geometry_, agreed_)) return State::kQuorum;
    return tolerated(geometry_, failed_) ? State::kWaiting : State::kImpossible;
  }
  DiskSet agreed() const { return agreed_; }

 private:
  Geometry geometry_;
  DiskSet agreed_ = 0;
  DiskSet failed_ = 0;
};

// Sends the same body to every disk and returns the replies one by one.
class Broadcast {
 public:
  Broadcast(ProxyContext& context, ViewPtr view, const RequestBody& body, Instant deadline);
  // nullopt: `until` passed first, or every disk has replied.
  Task<std::optional<DiskEvent>> next(Instant until);
  bool all_answered() const { return waiting_ == 0; }

 private:
  ReplyQueue replies_;
  std::uint32_t waiting_;
};

enum class AlreadyMeans : std::uint8_t { kAgreed, kFailed };

struct GroupAnswer {
  // kOk: a quorum agreed; the other calls continue in the background. kAlready: no quorum, and a
  // disk returned kAlready. kRace: start again.
  Status status = Status::kError;
  std::string reason;
  Generation blocked = 0;  // Highest in the replies that agreed.
};
// An acknowledgement counts for ProxyOptions::ok_lifetime after its request: its disk may have been
// wiped since. When a quorum takes longer, all disks are called again.
Task<GroupAnswer> call_group(ProxyContext& context, ViewPtr view, RequestBody body,
                             AlreadyMeans already, Instant deadline);

// One attempt on `view`; nullopt: a newer config is known, start again.
Task<std::optional<BlockResult>> block_once(ProxyContext& context, ViewPtr view,
                                            const BlockRequest& request);
Task<std::optional<GetBlockResult>> get_block_once(ProxyContext& context, ViewPtr view,
                                                   const GetBlockRequest& request);
Task<std::optional<CollectResult>> collect_once(ProxyContext& context, ViewPtr view,
                                                const CollectRequest& request);
Task<std::optional<StatusResult>> status_once(ProxyContext& context, ViewPtr view,
                                              const StatusRequest& request);

// The messages of a collect, in order: all flags first, at most kFlagsMax per message and each with
// its own counter; the last one has the barrier.
std::vector<Collect> split_collect(const CollectRequest& request);

}  // namespace moraine::blob

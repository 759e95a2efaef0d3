// ProxyContext: what all commands of one proxy share: the group's config, its disks, their health,
// and the disk calls in flight.
//
// Promise    A call whose command has finished runs to its end; joined() waits for all calls.
// Invariants (1) A command works on one GroupView from start to end; a newer config makes it start
//            again. (2) The generation of view() never decreases.
// Threading  The executor of the World that it was made with.
// Limits     kCommandsMax commands, kDiskCallsMax calls and kPutBytesInFlightMax bytes in flight;
//            refusal() says when one is reached. kRepairsMax repairs, more are left to the scrub.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "blob/protocol.h"
#include "blob/proxy/command_metrics.h"
#include "blob/proxy/health.h"
#include "blob/proxy/requests.h"
#include "io/event.h"
#include "io/task.h"
#include "io/world.h"

namespace moraine::blob {

inline constexpr std::size_t kCommandsMax = 16'384;
inline constexpr std::size_t kDiskCallsMax = 65'536;
inline constexpr std::size_t kPutBytesInFlightMax = std::size_t{512} << 20;
inline constexpr std::size_t kRepairsMax = 16;
inline constexpr std::uint32_t kRestartsMax = 100;
inline constexpr std::uint32_t kConfigPushesMax = 3;  // To one disk during one call.

// One generation of a group with the endpoints of its disks.
struct GroupView {
  GroupConfig config;
  std::vector<VDiskId> ids;                              // By order.
  std::vector<std::shared_ptr<DiskEndpoint>> endpoints;  // By order; null: cannot be reached.
  std::uint32_t digest = 0;                              // config.digest().

  const Geometry& geometry() const { return config.geometry; }
};
using ViewPtr = std::shared_ptr<const GroupView>;

struct DiskEvent {
  std::uint32_t tag = 0;  // As given to send().
  std::uint32_t order = 0;
  DiskReply reply;
};

// The replies that one command waits for. Replies after its end are dropped.
class ReplyQueue {
 public:
  explicit ReplyQueue(Executor& executor) : queue_(std::make_shared<Queue>(executor)) {}
  ReplyQueue(const ReplyQueue&) = delete;
  ReplyQueue& operator=(const ReplyQueue&) = delete;
  ~ReplyQueue() { queue_->over = true; }

  // The next reply, or nullopt when `deadline` passes first.
  auto next(Instant deadline) { return queue_->events.pop_until(deadline); }

 private:
  friend class ProxyContext;
  struct Queue {
    explicit Queue(Executor& executor) : events(executor) {}
    Mailbox<DiskEvent> events;
    bool over = false;
  };
  std::shared_ptr<Queue> queue_;
};

class ProxyContext {
 public:
  ProxyContext(World world, GroupConfig config, EndpointResolver& resolver, ProxyOptions options);

  Executor& executor() const { return world_.executor; }
  Instant now() const { return world_.executor.now(); }
  Random& random() const { return world_.random; }
  const ProxyOptions& options() const { return options_; }
  GroupHealth& health() { return health_; }
  CommandMetrics& metrics() { return metrics_; }
  const ViewPtr& view() const { return view_; }
  // Adopts `newer` if its generation is above the current one. One of the same generation with
  // other disks is refused and logged.
  void reconfigure(GroupConfig newer);

  // Calls disk `order`; its reply goes to `replies` with `tag`. A disk that has an older config of
  // the group is sent the view's and called again, so kRace with an older config means that it
  // refused the view's or could not be sent it, and kDeadline that it did not adopt it in time.
  void send(const ReplyQueue& replies, std::uint32_t tag, const ViewPtr& view, std::uint32_t order,
            RequestBody body, Instant deadline, Operation operation);
  // One call without a ReplyQueue.
  Task<DiskReply> call(ViewPtr view, std::uint32_t order, RequestBody body, Instant deadline,
                       Operation operation);

  // After kRace. True: a newer config is known, the command starts again. False: the disk did not
  // adopt the view's config, and counts as failed.
  bool must_restart(const ViewPtr& view, const DiskReply& reply);

  // Owns tasks that outlive commands.
  TaskScope& background() { return background_; }
  // At most one repair per blob: false when there is one, or kRepairsMax are running.
  bool begin_repair(const BlobId& id);
  void end_repair(const BlobId& id) { repairs_.erase(id); }

  // Why no new command is accepted; empty when it would be.
  std::string refusal() const;
  void close() { background_.close(); }
  // Waits until no command and no disk call is left. At most one coroutine waits.
  Task<void> joined();

  // Counts one command in flight.
  class Admission {
   public:
    explicit Admission(ProxyContext& context) : context_(context) { ++context.commands_; }
    Admission(const Admission&) = delete;
    Admission& operator=(const Admission&) = delete;
    ~Admission() { context_.command_ended(); }

   private:
    ProxyContext& context_;
  };

 private:
  Task<void> deliver(std::shared_ptr<ReplyQueue::Queue> queue, std::uint32_t tag, ViewPtr view,
                     std::uint32_t order, RequestBody body, Instant deadline, Operation operation);
  // The view's config being sent to a disk that has an older one; calls of that disk wait for it.
  struct Push {
    explicit Push(Executor& executor) : ended(executor) {}

    std::uint32_t generation = 0;
    std::optional<Status> outcome;
    Event ended;
  };
  bool behind(const GroupView& view, const DiskReply& reply) const;
  // kOk: the disk has the view's config. kDeadline: it did not answer in time or before `deadline`.
  Task<Status> update_config_of(ViewPtr view, std::uint32_t order, Instant deadline);
  Task<void> push_config(ViewPtr view, std::uint32_t order, std::shared_ptr<Push> push);
  void note(const GroupView& view, std::uint32_t order, Operation operation, Instant sent,
            const DiskReply& reply);
  void note_contradiction(const GroupView& view, const GroupConfig& theirs);
  void command_ended();

  World world_;
  EndpointResolver& resolver_;
  ProxyOptions options_;
  ViewPtr view_;
  GroupHealth health_;
  CommandMetrics metrics_;
  std::vector<std::shared_ptr<Push>> pushes_;  // By order: the last one, ended or not; or null.
  std::uint32_t contradicted_ = 0;  // A generation for which a disk has another config; 0: none.
  std::set<BlobId> repairs_;
  std::size_t commands_ = 0;
  std::size_t put_bytes_ = 0;
  Event idle_{world_.executor};  // No command is in flight.
  TaskScope background_;
};

}  // namespace moraine::blob

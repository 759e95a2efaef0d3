// TopicsClaim: a claim in blob storage that lets one node of a cluster serve the topics.
//
//   claim blob = version u8, node u32, released flag, address (u32 length, bytes), crc32c u32
//
// Promise    At most one node holds the claim: a new holder fences the previous one, whose next
//            heartbeat fails. Without ClaimOptions::take_over, take() fails while the holder renews
//            the claim; a holder without heartbeats for ClaimOptions::silence counts as dead. A
//            holder that stopped cleanly has marked the claim as released, and a restarted node
//            recognises its own claim by its node number.
// Invariants Each holder has a generation of its own in blob storage, so a superseded holder cannot
//            renew. Only the newest blob is kept.
// Threading  The world's executor.
// Limits     A heartbeat every ClaimOptions::heartbeat: one put and one collect.
// Errors     kConflict: another node serves topics; the text says which one and what to do.
//            kUnavailable, kTimeout: the group does not answer.
// Tests      topics_claim_test.cpp, topics_claim_fuzz.cpp.
#pragma once

#include <memory>
#include <string>

#include "io/event.h"
#include "io/sync.h"
#include "io/world.h"
#include "tablet/groups.h"
#include "tablet/tablet_info.h"

namespace moraine {

struct ClaimHolder {
  std::uint32_t node = 0;
  bool released = false;
  std::string address;  // Where it serves topics.
  bool operator==(const ClaimHolder&) const = default;
};
Slice encode_claim(const ClaimHolder& holder);
Result<ClaimHolder> decode_claim(ByteSpan bytes);

struct ClaimOptions {
  Duration heartbeat = 1s;
  Duration silence = 4s;  // A holder without heartbeats for so long counts as dead.
  Duration timeout = 5s;  // Of one storage command.
  bool take_over = false;
};

class TopicsClaim {
 public:
  // `group` outlives the claim.
  static Task<Result<std::unique_ptr<TopicsClaim>>> take(World world, blob::Proxy& group,
                                                         ClaimHolder self, ClaimOptions options);
  TopicsClaim(const TopicsClaim&) = delete;
  TopicsClaim& operator=(const TopicsClaim&) = delete;

  // Called once, when another node has taken over.
  void on_lost(Callback hook) { on_lost_ = std::move(hook); }
  bool lost() const { return lost_; }
  // Renews the claim now. False: another node has taken over. True also when the group does not
  // answer.
  Task<bool> confirm();
  // The address of topics; written with the next heartbeat.
  void set_address(std::string address) { self_.address = std::move(address); }
  // Ends the heartbeats. Called once, before destruction.
  Task<void> stop();
  // Stops the heartbeats without releasing the claim, as a crash does.
  void abandon();

 private:
  struct Seen {
    BlobId id;
    ClaimHolder holder;
    Generation blocked = 0;
  };
  TopicsClaim(World world, blob::Proxy& group, ClaimHolder self, ClaimOptions options)
      : world_(world), group_(group), self_(std::move(self)), options_(options) {}

  Task<Result<std::optional<Seen>>> read_newest();
  Task<Result<void>> fence(const std::optional<Seen>& before);
  Task<Result<void>> write();
  Task<void> run_heartbeats();
  Instant deadline() const { return world_.executor.now() + options_.timeout; }

  World world_;
  blob::Proxy& group_;
  ClaimHolder self_;
  const ClaimOptions options_;
  Generation generation_ = 0;
  Step step_ = 0;
  bool written_ = true;          // The blob of step_ is written.
  ClaimHolder unwritten_;        // What was last put.
  bool renewal_failed_ = false;  // The last heartbeat failed.
  std::uint32_t collects_ = 0;
  bool lost_ = false;
  std::uint64_t beats_begun_ = 0;
  std::uint64_t beats_ended_ = 0;
  Event beaten_{world_.executor};
  Callback on_lost_;
  Signal wakes_{world_.executor};
  TaskScope scope_;
};

}  // namespace moraine

// TopicsClaim: one node of a cluster serves the topics; the others know which one.
//
//   claim blob = version u8, node u32, released flag, address (u32 length, bytes), crc32c u32
//
// Promise    At most one node holds the claim: the next holder has fenced the one before, whose
//            next beat fails. Without ClaimOptions::take_over, take() leaves a holder that beats
//            alone; one that does not for ClaimOptions::silence counts as dead. A holder that ended
//            is recognised by what it left, and the node itself after a restart by its number.
// Invariants Each holder has a generation of its own in blob storage, so a holder that was
//            superseded cannot beat. Only the newest blob is kept.
// Threading  The world's executor.
// Limits     A beat every ClaimOptions::beat: one put and one collect.
// Errors     kConflict: another node serves topics; says which one and what to do. kUnavailable,
//            kTimeout: the group does not answer.
// Tests      topics_claim_test.cpp, topics_claim_fuzz.cpp.
#pragma once

#include <memory>
#include <string>

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
  Duration beat = 1s;
  Duration silence = 4s;  // Of a holder that is taken for dead.
  Duration timeout = 5s;  // Of one storage command.
  bool take_over = false;
};

class TopicsClaim {
 public:
  // `group` outlives it.
  static Task<Result<std::unique_ptr<TopicsClaim>>> take(World world, blob::Proxy& group,
                                                         ClaimHolder self, ClaimOptions options);
  TopicsClaim(const TopicsClaim&) = delete;
  TopicsClaim& operator=(const TopicsClaim&) = delete;

  // Called once, when another node has taken over.
  void on_lost(Callback hook) { on_lost_ = std::move(hook); }
  bool lost() const { return lost_; }
  // Where topics are served; written with the next beat.
  void set_address(std::string address) { self_.address = std::move(address); }
  // Ends the beats. Called once, before destruction.
  Task<void> stop();
  // Stops the beats, and no more: the claim is left as a node that dies leaves it.
  void abandon();

 private:
  struct Seen {
    BlobId id;
    ClaimHolder holder;
    Generation blocked = 0;
  };
  TopicsClaim(World world, blob::Proxy& group, ClaimHolder self, ClaimOptions options)
      : world_(world), group_(group), self_(std::move(self)), options_(options) {}

  Task<Result<std::optional<Seen>>> look();
  Task<Result<void>> fence(const std::optional<Seen>& before);
  Task<Result<void>> write();
  Task<void> beat_for_ever();
  Instant deadline() const { return world_.executor.now() + options_.timeout; }

  World world_;
  blob::Proxy& group_;
  ClaimHolder self_;
  const ClaimOptions options_;
  Generation generation_ = 0;
  Step step_ = 0;
  bool written_ = true;    // The blob of step_ is.
  ClaimHolder unwritten_;  // What was last put.
  bool silent_ = false;    // The last beat failed.
  std::uint32_t collects_ = 0;
  bool lost_ = false;
  Callback on_lost_;
  Mailbox<bool> wakes_{world_.executor};
  TaskScope scope_;
};

}  // namespace moraine

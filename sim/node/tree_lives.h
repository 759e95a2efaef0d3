// What ends by itself: transactions of the tree without pings, nodes that expire.
//
//   TreeLeases   transactions with short timeouts, some pinged, then left alone
//   TreeExpiry   nodes with expiration_time or expiration_timeout, some read again and again
//
// Promise    Nothing ends early, by the clocks that machines may have had; once all faults have
//            ended, all is gone soon after its time, and an ended transaction has left nothing:
//            neither its changes nor its locks.
// Threading  Events of the scenario.
#pragma once

#include <string>
#include <vector>

#include "sim/node/http_stage.h"

namespace moraine::sim {

class TreeLeases {
 public:
  explicit TreeLeases(HttpStage& stage);

  Task<void> run();
  // After all faults. False: not all transactions are over yet, or no answer.
  Task<bool> check(HttpLink& link);

 private:
  Task<void> live_once();
  // True: the transaction is there. nullopt: nothing is known.
  Task<std::optional<bool>> there(PathId transaction);
  // Keeps it open for a while; returns until when it is open for certain. nullopt: unknown.
  Task<std::optional<Instant>> keep(PathId transaction, Duration timeout, Instant open_until);
  Task<void> watch_end(PathId transaction, Instant open_until);
  Task<void> check_undone();

  HttpStage& stage_;
  HttpClient client_;
  std::int64_t value_ = 0;  // Of the node, outside of transactions.
  std::vector<PathId> left_;
};

class TreeExpiry {
 public:
  explicit TreeExpiry(HttpStage& stage);

  Task<void> run();
  // After all faults. False: not all that has expired is gone, or no answer.
  Task<bool> check(HttpLink& link);

 private:
  struct Node {
    std::string name;
    std::chrono::milliseconds time{0};     // When it expires; 0: by timeout.
    std::chrono::milliseconds timeout{0};  // Since the last access.
    Instant used;                          // The last access that is known, or a later one.
    bool gone = false;
  };

  Task<void> make();
  Task<void> use_one();
  Task<void> watch();
  bool may_be_gone(const Node& node) const;

  HttpStage& stage_;
  HttpClient client_;
  std::uint64_t made_ = 0;
  std::vector<Node> nodes_;
};

}  // namespace moraine::sim

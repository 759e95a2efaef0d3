// TreeSharer: an HTTP client whose transactions change nodes of the tree that others change too.
//
//   increments   a number is read and set under an exclusive lock, some locks wait for others;
//                also in nested transactions, of which some are aborted
//   snapshots    a transaction sees one value all the time
//   shared locks keep others from changing a number
//   appends      to a list, each exactly once
//
// Promise    SharedNodes knows which locks are held for certain, and what every number may be: two
//            locks that exclude each other, a lost or repeated change, and a change that is seen
//            before its commit are immediate failures.
// Threading  Events of the scenario.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>

#include "sim/node/http_stage.h"

namespace moraine::sim {

struct SharedNodes {
  struct Number {
    std::int64_t committed = 0;   // Increments that were acknowledged.
    std::int64_t committing = 0;  // That were sent and not answered.
    std::size_t shared = 0;       // Locks that are held.
    bool exclusive = false;
  };
  std::array<Number, 2> numbers;
  std::set<std::int64_t> appended;
  std::set<std::int64_t> appending;
  bool made = false;

  static constexpr const char* kList = "//tmp/shared/list";
  static std::string path_of(std::size_t number) {
    return "//tmp/shared/number" + std::to_string(number);
  }
};

class TreeSharer {
 public:
  TreeSharer(HttpStage& stage, SharedNodes& nodes, std::size_t number);

  Task<void> run();
  // After all faults: every acknowledged change is there once. False: no answer.
  static Task<bool> check(HttpStage& stage, const SharedNodes& nodes, HttpLink& link);

 private:
  // A lock that was acquired. Its number is `at`.
  struct Held {
    PathId transaction;
    std::size_t at;
    bool exclusive;
  };

  Task<bool> make_nodes();
  Task<void> increment();
  // Increments in the transaction, or in a nested one. True: it is to be committed with a change.
  Task<std::optional<bool>> change_in(PathId transaction, std::size_t at);
  Task<void> watch_shared();
  Task<void> watch_snapshot();
  Task<void> append();

  // nullopt: it is held by others, or nothing is known.
  Task<std::optional<Held>> acquire(PathId transaction, std::size_t at, bool exclusive);
  Task<bool> wait_for(PathId transaction, const std::string& lock);
  void release(const Held& held);
  Task<bool> end(PathId transaction, bool commits);
  // The value is one that may be committed; `least`: at least this.
  void check_value(std::size_t at, std::int64_t value, std::int64_t least, const char* where);

  HttpStage& stage_;
  SharedNodes& nodes_;
  const std::int64_t number_;
  HttpClient client_;
  std::int64_t appends_ = 0;
};

}  // namespace moraine::sim

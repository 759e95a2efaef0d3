// HttpStage: what all HTTP clients of the scenario share; HttpClient: one of them.
//
// Promise    A client that must know an outcome repeats its request, with its mutation id, until it
//            does: over lost answers, other servers and restarts. Now and then it repeats one that
//            was answered long ago: the answer must be the same, and nothing is done again.
// Threading  Events of the scenario.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheme/object_id.h"
#include "sim/node/http_link.h"

namespace moraine::sim {

struct HttpPlan {
  std::size_t writers = 2;  // Of the tree, each with a directory of its own.
  std::size_t sharers = 3;  // Of the tree, with nodes that all of them change.
  std::size_t tellers = 3;  // Of rows.
  Duration think_max = 300ms;
};

// How far the clocks of machines were from virtual time since the start of the scenario.
struct ClockRange {
  std::chrono::milliseconds least{0};
  std::chrono::milliseconds most{0};
};

struct HttpStage {
  SimWorld& world;
  Machines& machines;
  History& history;
  const HttpPlan plan;
  bool stopped = false;
  ClockRange clocks = {};

  bool keep_running() const { return !stopped && !history.failed(); }
  Instant now() const { return world.executor().now(); }
  Task<void> think(SeededRandom& random) const {
    const auto most = static_cast<std::uint64_t>(plan.think_max.count());
    co_await sleep_for(world.executor(), Duration(1 + random.below(most)));
  }
  // Call at least whenever a clock may have jumped.
  void note_clocks();
  void count(TreeCommand command, const std::optional<HttpAnswer>& answer);
};

// A call as parameters of YSON: path="//tmp/a";
std::string path_is(const std::string& path);
std::string in_transaction(const std::optional<PathId>& transaction);

class HttpClient {
 public:
  // `name` is unique among clients.
  HttpClient(HttpStage& stage, std::string name);
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  HttpStage& stage() { return stage_; }
  SeededRandom& random() { return random_; }
  HttpLink& link() { return link_; }

  // Sends a request that changes nothing until it is answered by a server that is not outdated.
  // nullopt: the scenario has failed, or it was not answered for very long.
  Task<std::optional<HttpAnswer>> read(HttpRequest request);
  // Sends a change of the tree until its outcome is known. nullopt: as above.
  Task<std::optional<HttpAnswer>> change(TreeCommand command, HttpRequest request);
  // The same; any error is an immediate failure.
  Task<std::optional<HttpAnswer>> must_change(TreeCommand command, HttpRequest request);
  Task<std::optional<PathId>> begin(Duration timeout, std::optional<PathId> parent = {});
  // nullopt: nothing is known.
  Task<std::optional<std::int64_t>> get_number(const std::string& path,
                                               std::optional<PathId> transaction = {});
  void fail(const std::string& what) { stage_.history.fail(name_ + ": " + what); }

 private:
  struct Done {
    HttpRequest request;  // With its mutation id, marked as a retry.
    HttpAnswer answer;
  };

  // One attempt. nullopt: nothing is known.
  Task<std::optional<HttpAnswer>> attempt(HttpRequest request, bool may_be_lost);
  Task<void> pause();
  Task<void> repeat_one();
  std::string new_mutation();

  HttpStage& stage_;
  const std::string name_;
  SeededRandom random_;
  HttpLink link_;
  std::uint64_t mutations_ = 0;
  std::vector<Done> done_;  // Some of the changes that were made.
};

}  // namespace moraine::sim

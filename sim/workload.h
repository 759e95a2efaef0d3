// Workload: clients of several tablets, whose incarnations race each other through several proxies.
//
// Promise    Every command goes through the model when it is sent and when it is answered, has a
//            deadline, and is answered by then; not with ERROR while the faulty members are a
//            tolerated set. Callers keep the order that the storage requires: flags and barriers of
//            one incarnation do not overtake each other.
// Threading  Commands run on their client's node and end with it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "sim/cluster.h"
#include "sim/model.h"

namespace moraine::sim {

struct WorkloadOptions {
  std::size_t drivers = 3;  // Per client.
  std::size_t tablets = 3;
  Duration think_max = 250ms;  // Between two commands of a driver.
  std::uint32_t blob_size_max = 200'000;
};

class Workload {
 public:
  Workload(SimWorld& world, Cluster& cluster, Model& model, History& history,
           WorkloadOptions options);
  ~Workload();

  // A client that has just been started begins to work.
  void attach(std::size_t client);
  // No new commands from now on.
  void stop() { stopped_ = true; }
  std::size_t in_flight() const { return in_flight_; }
  // Members that were faulty, as this client sees them, at some time since then. A reply of ERROR
  // while they are a tolerated set breaks a promise.
  using Troubled = std::function<blob::DiskSet(std::size_t client, Instant since)>;
  void judge_errors(Troubled troubled) { troubled_ = std::move(troubled); }
  // The client was paused for this long: its replies may be that much later.
  void note_pause(std::size_t client, Duration pause) { paused_[client] += pause; }

 private:
  struct Incarnation {
    blob::TabletId tablet;
    blob::Generation generation = 0;
    blob::Step next_step = 1;
    std::uint32_t next_counter = 1;
    std::set<blob::BlobId> putting;
    bool collecting = false;
  };
  using Leader = std::shared_ptr<Incarnation>;
  // One run of one client, until it crashes.
  struct Session {
    std::size_t client;
    Executor& executor;
    blob::Proxy& proxy;
    SeededRandom random;
    TaskScope scope;
    bool over = false;
  };

  Task<void> drive(Session& session);
  Task<void> one_command(Session& session);

  Task<void> boot(Session& session, blob::TabletId tablet);
  Task<void> put_new(Session& session, Leader leader);
  Task<void> put_again(Session& session, blob::TabletId tablet);
  Task<void> put_fenced(Session& session, blob::TabletId tablet);
  Task<blob::Status> put(Session& session, blob::BlobId id, Command command);
  Task<void> get_some(Session& session, blob::TabletId tablet);
  Task<void> get(Session& session, blob::GetRequest request, Command command);
  Task<void> collect(Session& session, Leader leader);
  Task<void> range(Session& session, blob::TabletId tablet);
  Task<void> discover(Session& session, blob::TabletId tablet);
  Task<void> ask_blocked(Session& session, blob::TabletId tablet);
  Task<void> status(Session& session);

  // workload_plan.cpp: what to request
  blob::BlobId new_id(Session& session, Incarnation& leader);
  blob::BlobId some_blob(Session& session, blob::TabletId tablet);
  bool plan_collect(Session& session, Incarnation& leader, blob::CollectRequest& request);
  void choose_flags(Session& session, const TabletRecord& record, blob::CollectRequest& request);
  blob::GenStep choose_barrier(Session& session, const Incarnation& leader, blob::Channel channel);
  Leader leader_of(Session& session, blob::TabletId tablet);

  Instant deadline(Session& session);
  // When a command was sent, and how long its client had been paused by then.
  struct Sent {
    Instant at;
    Instant deadline;
    Duration paused;
  };
  Sent sent(const Session& session, Instant deadline);
  // Counts the reply; false when the client crashed before it arrived.
  bool answered(Session& session, Command command, blob::Status status, const Sent& sent,
                const std::string& what, const std::string& reason);
  void judge_error(const Session& session, Command command, blob::Status status, const Sent& sent,
                   const std::string& what);

  SimWorld& world_;
  Cluster& cluster_;
  Model& model_;
  History& history_;
  const WorkloadOptions options_;
  bool stopped_ = false;
  std::size_t in_flight_ = 0;
  std::uint64_t sessions_made_ = 0;
  std::map<std::size_t, Duration> paused_;
  Troubled troubled_;
  std::map<blob::TabletId, std::vector<Leader>> leaders_;     // Oldest first.
  std::map<blob::TabletId, blob::Generation> generations_;    // Highest that was tried.
  std::map<std::size_t, std::unique_ptr<Session>> sessions_;  // By client.
};

}  // namespace moraine::sim

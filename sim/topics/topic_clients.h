// TopicClients: producers and consumers of all partitions. They outlive every node, retry after
// unknown outcomes, and record in the model what they send and receive.
//
// Promise    A producer with sequence numbers resends what is not acknowledged, in order, to the
//            present leader; one without sends everything once. Some pipeline without waiting for
//            replies, and resend what was refused, the lowest number first. The auditor reads every
//            message of its partition.
// Threading  Events of the scenario; calls run on the node of the leader.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/topics/topic_hosts.h"

namespace moraine::sim {

class TopicClients {
 public:
  TopicClients(SimWorld& world, TopicHosts& hosts, TopicModel& model, History& history,
               TopicOptions options);

  void start();
  void stop() { stopped_ = true; }
  std::size_t running() const { return scope_.live(); }
  // How far the auditor of a partition has read.
  queue::Offset audited(const PartitionName& partition) { return audited_[partition]; }

 private:
  using Leader = TopicHosts::Leader;
  template <class T>
  using Reply = std::shared_ptr<OneShot<std::optional<T>>>;
  using Answers = std::vector<std::optional<queue::WriteAnswer>>;

  struct Entry {
    MessageName name;
    std::uint64_t number = 0;
    std::uint32_t count = 1;
    std::uint32_t parts = 1;
    std::size_t size = 0;
    bool done = false;
    bool in_flight = false;
  };
  struct Producer {
    PartitionName partition;
    std::uint32_t id = 0;
    queue::Numbering numbering = queue::Numbering::kNone;
    SeededRandom random;
    std::uint64_t next_index = 0;
    std::uint64_t next_number = 1;
    std::deque<Entry> window;  // Not acknowledged yet.
  };
  // A producer that does not wait for replies, and one leader.
  struct Pipeline {
    Producer& producer;
    const Leader leader;
    std::size_t in_flight = 0;
    std::uint64_t sent = 0;      // Entries; each is a turn.
    std::uint64_t answered = 0;  // The turn whose answer is next.
    bool broken = false;         // An outcome is unknown, or the leader has ended.
  };

  bool keep_running() const { return !stopped_ && !history_.failed(); }
  bool there(const PartitionName& partition) const {
    return hosts_.partitions(partition.tablet) > partition.index;
  }
  Task<void> think(SeededRandom& random);

  Task<void> produce(std::unique_ptr<Producer> producer);
  void fill_window(Producer& producer);
  std::vector<queue::WriteRequest> requests_of(const Producer& producer, const Entry& entry) const;
  std::vector<Reply<queue::WriteAnswer>> start_send(Leader leader, PartitionName partition,
                                                    std::vector<queue::WriteRequest> requests);
  Task<Answers> send(Leader leader, PartitionName partition,
                     std::vector<queue::WriteRequest> requests);
  // The reply for a message whose first part's reply is at `at`.
  static std::optional<queue::WriteAnswer> whole_answer(const Answers& answers, std::size_t at,
                                                        std::uint32_t parts);
  void take_answers(Producer& producer, const Answers& answers);
  void take_answer(Producer& producer, Entry& entry,
                   const std::optional<queue::WriteAnswer>& answer);

  // topic_pipelines.cpp
  Task<void> produce_in_pipelines(std::unique_ptr<Producer> producer);
  Task<void> run_pipeline(Pipeline& pipeline);
  void send_next(Pipeline& pipeline);
  Task<void> await_entry(Pipeline& pipeline, std::uint64_t index, std::uint64_t turn,
                         std::vector<Reply<queue::WriteAnswer>> replies);

  Task<void> audit(PartitionName partition, SeededRandom random);
  Task<void> read_randomly(PartitionName partition, SeededRandom random);
  Task<std::optional<Result<queue::ReadAnswer>>> read(Leader leader, PartitionName partition,
                                                      queue::ReadRequest request);
  Task<void> commit(Leader leader, PartitionName partition, std::string consumer,
                    queue::Offset offset);
  Task<void> trim(Leader leader, PartitionName partition, queue::Offset offset);
  // The partition in this leader; null when it has none. Runs on the leader's node.
  std::shared_ptr<queue::Partition> find(const Leader& leader, const PartitionName& partition);
  template <class T>
  void give_up_later(const Reply<T>& reply);

  SimWorld& world_;
  TopicHosts& hosts_;
  TopicModel& model_;
  History& history_;
  const TopicOptions options_;
  bool stopped_ = false;
  std::map<PartitionName, queue::Offset> audited_;
  TaskScope scope_;
};

}  // namespace moraine::sim

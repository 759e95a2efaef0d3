#include "crash/topics/members.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine::crash {
namespace {

constexpr int kPollMs = 50;
constexpr int kAnswerMs = 20'000;
constexpr std::uint64_t kCommitEveryMax = 300;
constexpr const char* kGroup = "crash";

}  // namespace

Result<std::unique_ptr<Member>> Member::open(const std::string& address, const std::string& topic,
                                             TopicTruth& truth, std::uint64_t seed) {
  std::unique_ptr<Member> member(new Member(topic, truth, seed));
  const KafkaSettings settings{{"group.id", kGroup},
                               {"enable.auto.commit", "false"},
                               {"enable.auto.offset.store", "false"},
                               {"auto.offset.reset", "earliest"},
                               {"session.timeout.ms", "6000"},
                               {"heartbeat.interval.ms", "200"},
                               {"fetch.error.backoff.ms", "20"},
                               {"fetch.wait.max.ms", "100"}};
  TRY(auto client, open_client(RD_KAFKA_CONSUMER, address, settings, [&](rd_kafka_conf_t* conf) {
        rd_kafka_conf_set_opaque(conf, member.get());
        rd_kafka_conf_set_rebalance_cb(conf, rebalanced);
      }));
  rd_kafka_poll_set_consumer(client.get());
  member->client_ = client.release();
  TRY_VOID(member->subscribe());
  member->thread_ = std::thread(&Member::run, member.get());
  return member;
}

Result<void> Member::subscribe() {
  const auto topics = partition_list();
  rd_kafka_topic_partition_list_add(topics.get(), topic_.c_str(), RD_KAFKA_PARTITION_UA);
  const rd_kafka_resp_err_t code = rd_kafka_subscribe(client_, topics.get());
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return fail(Errc::kUnavailable, rd_kafka_err2str(code));
  return {};
}

void Member::end(Goodbye goodbye) {
  ending_ = true;
  if (thread_.joinable()) thread_.join();
  if (!client_) return;
  if (goodbye == Goodbye::kLeaves) rd_kafka_consumer_close(client_);
  rd_kafka_destroy_flags(client_, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
  client_ = nullptr;
}

void Member::rebalanced(rd_kafka_t* client, rd_kafka_resp_err_t code,
                        rd_kafka_topic_partition_list_t* partitions, void* opaque) {
  auto& self = *static_cast<Member*>(opaque);
  if (code != RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
    if (self.random_.one_in(2)) self.commit();
    self.assigned_.clear();
    rd_kafka_assign(client, nullptr);
    return;
  }
  for (int i = 0; i < partitions->cnt; ++i) {
    const std::int32_t partition = partitions->elems[i].partition;
    self.assigned_[partition] = self.truth_.assigned(partition);
  }
  rd_kafka_assign(client, partitions);
}

void Member::run() {
  while (!ending_) {
    const KafkaHandle<rd_kafka_message_t> message(rd_kafka_consumer_poll(client_, kPollMs));
    if (message && message->err == RD_KAFKA_RESP_ERR_NO_ERROR) take(*message);
    if (!message) commit();
  }
}

void Member::take(const rd_kafka_message_t& message) {
  const auto found = assigned_.find(message.partition);
  if (found == assigned_.end()) {
    truth_.violate(Violation::kForeign, "a message of a partition that is not assigned");
    return;
  }
  truth_.processed(found->second, message.offset, bytes_of(message));
  if (--until_commit_ > 0) return;
  until_commit_ = 1 + random_.below(kCommitEveryMax);
  commit();
}

void Member::commit() {
  const auto offsets = partition_list();
  for (const auto& [partition, assignment] : assigned_) {
    if (assignment.next <= assignment.committed) continue;
    rd_kafka_topic_partition_list_add(offsets.get(), topic_.c_str(), partition)->offset =
        assignment.next;
    truth_.begin_commit(partition, assignment.next);
  }
  if (offsets->cnt == 0) return;
  if (rd_kafka_commit(client_, offsets.get(), 0) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  for (int i = 0; i < offsets->cnt; ++i) {
    const rd_kafka_topic_partition_t& done = offsets->elems[i];
    if (done.err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    truth_.committed(assigned_[done.partition], done.offset);
  }
}

Result<Members> Members::open(const std::string& address, const std::string& topic,
                              TopicTruth& truth, std::size_t count, Random& random) {
  Members opened(address, topic, truth, random);
  for (std::size_t i = 0; i < count; ++i) {
    TRY(auto member, Member::open(address, topic, truth, random.next()));
    opened.members_.push_back(std::move(member));
  }
  return opened;
}

Result<void> Members::check_commits() const {
  TRY(const auto client, open_client(RD_KAFKA_CONSUMER, address_, {{"group.id", kGroup}}));
  const auto list = partition_list();
  std::vector<std::int64_t> floors;
  for (std::int32_t i = 0; i < truth_->partitions(); ++i) {
    rd_kafka_topic_partition_list_add(list.get(), topic_.c_str(), i);
    floors.push_back(truth_->commit_floor(i));
  }
  const rd_kafka_resp_err_t code = rd_kafka_committed(client.get(), list.get(), kAnswerMs);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return fail(Errc::kUnavailable,
                fmt::format("the commits could not be read: {}", rd_kafka_err2str(code)));
  }
  for (int i = 0; i < list->cnt; ++i) {
    const rd_kafka_topic_partition_t& found = list->elems[i];
    if (found.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return fail(Errc::kUnavailable,
                  fmt::format("the commit of partition {} could not be read: {}", found.partition,
                              rd_kafka_err2str(found.err)));
    }
    // Below 0: no commit.
    truth_->found_commit(found.partition, floors[static_cast<std::size_t>(found.partition)],
                         std::max<std::int64_t>(found.offset, 0));
  }
  return {};
}

Result<void> Members::replace_one(Goodbye goodbye) {
  auto& place = members_[random_->below(members_.size())];
  place->end(goodbye);
  TRY(place, Member::open(address_, topic_, *truth_, random_->next()));
  return {};
}

}  // namespace moraine::crash

#include "sim/node/kafka_consumer.h"

#include <fmt/format.h>

#include <algorithm>

#include "gateway/kafka/protocol/consumer_protocol.h"

namespace moraine::sim {

using kafka::ErrorCode;
using queue::Offset;

namespace {

constexpr std::int32_t kSessionMs = 6'000;
constexpr std::int32_t kFetchWaitMs = 200;
constexpr std::uint64_t kSleepMaxMs = 9'000;
constexpr int kOffsetTries = 10;
constexpr Duration kOffsetPause = 200ms;
// Turns between two of these, on average.
constexpr std::uint64_t kLeaves = 50;
constexpr std::uint64_t kSleeps = 50;
constexpr std::uint64_t kCloses = 30;

PartitionName partition_name(const std::string& topic, std::int32_t index) {
  return {std::stoull(topic.substr(1)), static_cast<queue::PartitionIndex>(index)};
}

}  // namespace

KafkaConsumer::KafkaConsumer(KafkaStage& stage, std::uint64_t number)
    : stage_(stage),
      random_(stage.world.stream("kafka consumer", number)),
      link_(stage.world, stage.machines, stage.history, fmt::format("consumer{}", number)) {}

Task<void> KafkaConsumer::run() {
  while (stage_.keep_running()) {
    co_await stage_.think(random_);
    if (!link_.open(random_)) continue;
    const bool joined = co_await join();
    stage_.count(TopicCommand::kJoin, link_.connected(), joined);
    if (joined) co_await consume();
  }
  link_.close();
}

Task<bool> KafkaConsumer::join() {
  positions_.clear();
  kafka::FindCoordinatorRequest find;
  find.keys = {kGroup};
  const auto found = co_await link_.ask(std::move(find));
  if (!found || found->coordinators.size() != 1) co_return false;
  if (found->coordinators[0].error_code != ErrorCode::kNone) co_return false;
  std::vector<std::string> members;  // Of the leader only.
  if (!co_await join_group(members)) co_return false;
  std::vector<kafka::SyncGroupRequest::Assignment> assignments;
  if (!members.empty()) {
    auto made = co_await assign(std::move(members));
    if (!made) co_return false;
    assignments = std::move(*made);
  }
  co_return co_await sync_group(std::move(assignments));
}

Task<bool> KafkaConsumer::join_group(std::vector<std::string>& members) {
  kafka::Subscription subscription;
  for (std::uint64_t topic = 1; topic <= stage_.plan.topics; ++topic) {
    subscription.topics.push_back(KafkaStage::topic_name(topic));
  }
  kafka::JoinGroupRequest request;
  request.group_id = kGroup;
  request.session_timeout_ms = kSessionMs;
  request.rebalance_timeout_ms = kSessionMs;
  request.member_id = member_id_;
  request.protocol_type = "consumer";
  request.protocols.push_back({"range", kafka::encode_subscription(subscription)});
  const auto response = co_await link_.ask(std::move(request));
  if (!response) co_return false;
  if (response->error_code == ErrorCode::kUnknownMemberId) member_id_.clear();
  const bool gives_id = response->error_code == ErrorCode::kMemberIdRequired ||
                        response->error_code == ErrorCode::kNone;
  if (gives_id) member_id_ = response->member_id;
  if (response->error_code != ErrorCode::kNone) co_return false;
  generation_ = response->generation_id;
  for (const auto& member : response->members) members.push_back(member.member_id);
  co_return true;
}

// Each member gets consecutive partitions of every topic.
Task<std::optional<std::vector<kafka::SyncGroupRequest::Assignment>>> KafkaConsumer::assign(
    std::vector<std::string> members) {
  kafka::MetadataRequest request;
  request.topics.emplace();
  request.allow_auto_topic_creation = false;
  for (std::uint64_t topic = 1; topic <= stage_.plan.topics; ++topic) {
    request.topics->push_back({{}, KafkaStage::topic_name(topic)});
  }
  const auto response = co_await link_.ask(std::move(request));
  if (!response) co_return std::nullopt;
  std::ranges::sort(members);
  std::vector<kafka::Assignment> parts(members.size());
  for (const auto& topic : response->topics) {
    if (topic.error_code != ErrorCode::kNone) continue;
    const std::size_t all = topic.partitions.size();
    for (std::size_t m = 0; m < members.size(); ++m) {
      kafka::Assignment::Topic own{*topic.name, {}};
      for (std::size_t i = all * m / members.size(); i < all * (m + 1) / members.size(); ++i) {
        own.partitions.push_back(static_cast<std::int32_t>(i));
      }
      if (!own.partitions.empty()) parts[m].topics.push_back(std::move(own));
    }
  }
  std::vector<kafka::SyncGroupRequest::Assignment> assignments;
  for (std::size_t m = 0; m < members.size(); ++m) {
    assignments.push_back({members[m], kafka::encode_assignment(parts[m])});
  }
  co_return assignments;
}

Task<bool> KafkaConsumer::sync_group(std::vector<kafka::SyncGroupRequest::Assignment> assignments) {
  kafka::SyncGroupRequest request;
  request.group_id = kGroup;
  request.generation_id = generation_;
  request.member_id = member_id_;
  request.protocol_type = "consumer";
  request.protocol_name = "range";
  request.assignments = std::move(assignments);
  const auto response = co_await link_.ask(std::move(request));
  if (!response) co_return false;
  if (response->error_code == ErrorCode::kUnknownMemberId) member_id_.clear();
  if (response->error_code != ErrorCode::kNone) co_return false;
  const auto assignment = kafka::decode_assignment(response->assignment);
  if (!assignment) {
    stage_.history.fail("an assignment is not the one that was sent");
    co_return false;
  }
  std::vector<PartitionName> partitions;
  for (const auto& topic : assignment->topics) {
    for (const std::int32_t index : topic.partitions) {
      partitions.push_back(partition_name(topic.name, index));
    }
  }
  if (stage_.history.verbose()) {
    stage_.history.say(fmt::format("member {} has {} partitions in generation {}", member_id_,
                                   partitions.size(), generation_));
  }
  stage_.group.assigned(generation_, member_id_, partitions);
  co_return co_await fetch_offsets(std::move(partitions));
}

Task<bool> KafkaConsumer::fetch_offsets(std::vector<PartitionName> partitions) {
  kafka::OffsetFetchRequest::Group group;
  group.group_id = kGroup;
  group.topics.emplace();
  for (const PartitionName& partition : partitions) {
    group.topics->push_back(
        {KafkaStage::topic_name(partition.tablet), {static_cast<std::int32_t>(partition.index)}});
  }
  for (int tries = 0; tries < kOffsetTries; ++tries) {
    kafka::OffsetFetchRequest request;
    request.groups = {group};
    const auto response = co_await link_.ask(std::move(request));
    if (!response || response->groups.size() != 1) co_return false;
    if (response->groups[0].error_code != ErrorCode::kNone) {
      co_await sleep_for(stage_.world.executor(), kOffsetPause);
      continue;
    }
    for (const auto& topic : response->groups[0].topics) {
      for (const auto& partition : topic.partitions) {
        const PartitionName name = partition_name(topic.name, partition.partition_index);
        std::optional<Offset> offset;
        if (partition.committed_offset >= 0) offset = partition.committed_offset;
        if (link_.to_newest()) stage_.group.committed(name, offset);
        positions_[name] = offset.value_or(0);
      }
    }
    co_return positions_.size() == partitions.size();
  }
  co_return false;
}

Task<void> KafkaConsumer::consume() {
  while (stage_.keep_running()) {
    co_await stage_.think(random_);
    if (random_.one_in(kCloses)) link_.close();
    if (!link_.open(random_)) continue;
    if (random_.one_in(kSleeps)) {
      co_await sleep_for(stage_.world.executor(), Duration(1ms) * random_.below(kSleepMaxMs));
      co_await commit();
    }
    if (!co_await heartbeat()) co_return;
    if (!positions_.empty()) co_await fetch();
    if (random_.one_in(2)) co_await commit();
    if (random_.one_in(kLeaves)) co_return co_await leave();
  }
}

Task<bool> KafkaConsumer::heartbeat() {
  kafka::HeartbeatRequest request;
  request.group_id = kGroup;
  request.generation_id = generation_;
  request.member_id = member_id_;
  const auto response = co_await link_.ask(std::move(request));
  if (!response) co_return true;  // It connects again.
  switch (response->error_code) {
    case ErrorCode::kUnknownMemberId:
    case ErrorCode::kIllegalGeneration:
      if (random_.one_in(2)) co_await commit();
      if (response->error_code == ErrorCode::kUnknownMemberId) member_id_.clear();
      co_return false;
    case ErrorCode::kRebalanceInProgress: co_await commit(); co_return false;
    default: co_return true;
  }
}

Task<void> KafkaConsumer::fetch() {
  const auto response = co_await link_.ask(fetch_request(positions_, kFetchWaitMs));
  stage_.count(TopicCommand::kRead, response.has_value(), true);
  if (!response) co_return;
  for (const auto& topic : response->topics) {
    for (const auto& partition : topic.partitions) {
      const PartitionName name = partition_name(topic.name, partition.partition_index);
      Offset& position = positions_.at(name);
      if (partition.error_code == ErrorCode::kOffsetOutOfRange && link_.to_newest()) {
        stage_.history.fail(fmt::format("topic {} partition {} ends at {}; {} was read before it",
                                        name.tablet, name.index, partition.high_watermark,
                                        position));
      }
      // A server that was replaced may end earlier.
      if (partition.error_code == ErrorCode::kOffsetOutOfRange) link_.close();
      if (partition.error_code != ErrorCode::kNone) continue;
      const Offset end = take_records(stage_, name, partition.records, position);
      if (end > position) stage_.group.delivered(name, position, end);
      position = end;
    }
  }
}

Task<void> KafkaConsumer::commit() {
  if (positions_.empty() || !link_.connected()) co_return;
  kafka::OffsetCommitRequest request;
  request.group_id = kGroup;
  request.generation_id = generation_;
  request.member_id = member_id_;
  std::map<PartitionName, Ticket> tickets;
  for (const auto& [name, position] : positions_) {
    tickets[name] = stage_.group.commit_sent(name, generation_, position);
    kafka::OffsetCommitRequest::Partition partition;
    partition.partition_index = static_cast<std::int32_t>(name.index);
    partition.committed_offset = static_cast<std::int64_t>(position);
    request.topics.push_back({KafkaStage::topic_name(name.tablet), {partition}});
  }
  const auto response = co_await link_.ask(std::move(request));
  if (!response) stage_.count(TopicCommand::kCommit, false, false);
  if (!response) co_return;
  for (const auto& topic : response->topics) {
    for (const auto& partition : topic.partitions) {
      const PartitionName name = partition_name(topic.name, partition.partition_index);
      const ErrorCode error = partition.error_code;
      stage_.count(TopicCommand::kCommit, true, error == ErrorCode::kNone);
      if (stage_.history.verbose()) {
        stage_.history.say(fmt::format("member {} of generation {} commits {} of {}/{}: {}",
                                       member_id_, generation_, positions_.at(name), name.tablet,
                                       name.index, kafka::to_string(error)));
      }
      const bool refused = error == ErrorCode::kIllegalGeneration ||
                           error == ErrorCode::kUnknownMemberId ||
                           error == ErrorCode::kRebalanceInProgress;
      if (error == ErrorCode::kNone) {
        stage_.group.commit_done(tickets.at(name), link_.to_newest());
      } else if (refused) {
        stage_.group.commit_refused(tickets.at(name));
      }
    }
  }
}

Task<void> KafkaConsumer::leave() {
  co_await commit();
  kafka::LeaveGroupRequest request;
  request.group_id = kGroup;
  request.members.push_back({member_id_, std::nullopt});
  (void)co_await link_.ask(std::move(request));
  member_id_.clear();
}

}  // namespace moraine::sim

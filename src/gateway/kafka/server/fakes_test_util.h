// An in-memory partition, topics and groups. For tests.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/topics.h"
#include "gateway/kafka/groups/groups.h"
#include "gateway/kafka/producer_ids.h"
#include "io/sync.h"
#include "queue/kafka/record_batch.h"

namespace moraine::kafka {

class FakePartition final : public queue::Partition {
 public:
  explicit FakePartition(Executor& executor) : executor_(executor) {}

  // The answer of the next writes, instead of storing them.
  std::deque<queue::WriteAnswer> scripted;
  Duration write_delay = 1ms;
  bool stop_answering = false;
  bool is_stopped = false;
  std::vector<queue::WriteRequest> requests;
  int watches = 0;

  std::shared_ptr<OneShot<queue::WriteAnswer>> write(queue::WriteRequest request) override {
    auto answer = std::make_shared<OneShot<queue::WriteAnswer>>();
    requests.push_back(request);
    queued_.push_back({std::move(request), answer});
    executor_.schedule(executor_.now() + write_delay, [this] { finish_one(); });
    return answer;
  }
  Task<Result<queue::ReadAnswer>> read(queue::ReadRequest request) override {
    if (request.offset > end_) co_return fail(Errc::kInvalidArgument, "past the end");
    ++reads;
    if (read_error) co_return std::unexpected(*read_error);
    co_return answer_to(request);
  }
  std::optional<queue::ReadAnswer> read_cached(const queue::ReadRequest& request) override {
    if (!in_memory || request.offset > end_) return std::nullopt;
    return answer_to(request);
  }
  void read_ahead(queue::Offset, std::size_t) override { ++reads_ahead; }
  queue::ReadAnswer answer_to(const queue::ReadRequest& request) const {
    queue::ReadAnswer answer;
    answer.start = start_;
    answer.end = end_;
    std::size_t bytes = 0;
    for (const queue::StoredEntry& entry : entries_) {
      if (entry.offset + entry.count <= std::max(request.offset, start_)) continue;
      if (!answer.entries.empty() && bytes + entry.payload.size() > request.bytes_max) break;
      bytes += entry.payload.size();
      answer.entries.push_back(entry);
    }
    return answer;
  }
  Task<Result<std::optional<queue::StoredEntry>>> find_time(std::int64_t time_ms) override {
    for (const queue::StoredEntry& entry : entries_) {
      if (entry.offset + entry.count <= start_) continue;
      if (entry.max_timestamp_ms >= time_ms) co_return std::optional(entry);
    }
    co_return std::optional<queue::StoredEntry>();
  }
  Task<Result<std::optional<queue::StoredEntry>>> find_newest() override {
    std::optional<queue::StoredEntry> newest;
    for (const queue::StoredEntry& entry : entries_) {
      if (entry.offset + entry.count <= start_) continue;
      if (!newest || entry.max_timestamp_ms > newest->max_timestamp_ms) newest = entry;
    }
    co_return newest;
  }
  Task<Result<void>> commit(queue::ConsumerOffset offset) override {
    co_await sleep_for(executor_, 1ms);
    const std::string name = offset.consumer;
    committed_[name] = std::move(offset);
    co_return Result<void>();
  }
  std::optional<queue::ConsumerOffset> committed(const std::string& consumer) const override {
    const auto found = committed_.find(consumer);
    return found == committed_.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<queue::ConsumerOffset> all_committed() const override {
    std::vector<queue::ConsumerOffset> all;
    for (const auto& [name, offset] : committed_) all.push_back(offset);
    return all;
  }
  Task<Result<void>> forget_consumer(std::string consumer) override {
    committed_.erase(consumer);
    co_return Result<void>();
  }
  Task<Result<queue::Offset>> trim(queue::Offset offset) override {
    if (offset > end_) co_return fail(Errc::kInvalidArgument, "past the end");
    start_ = std::max(start_, offset);
    co_return start_;
  }
  queue::PartitionInfo info() const override {
    queue::PartitionInfo info;
    info.start = start_;
    info.end = end_;
    info.bytes = info.written_bytes = bytes_;
    return info;
  }
  void configure(queue::PartitionConfig) override {}
  std::uint64_t watch(Callback moved) override {
    ++watches;
    watchers_.emplace(++next_watch_, std::move(moved));
    return next_watch_;
  }
  void unwatch(std::uint64_t watch) override {
    watches -= static_cast<int>(watchers_.erase(watch));
  }
  bool stopped() const override { return is_stopped; }

  void store_batch(Slice batch, std::uint32_t count = 1, std::int64_t time = 1000) {
    queue::StoredEntry entry;
    entry.count = count;
    entry.format = queue::EntryFormat::kKafkaBatch;
    entry.max_timestamp_ms = time;
    entry.payload = placed(batch, end_);
    store(std::move(entry));
  }
  // Answers a write that stop_answering left behind.
  void answer_next() { finish_one(); }
  void store(queue::StoredEntry entry) {
    entry.offset = end_;
    end_ += entry.count;
    bytes_ += entry.payload.size();
    entries_.push_back(std::move(entry));
    notify_watchers();
  }
  void notify_watchers() {
    for (auto& [number, moved] : watchers_) moved();
  }
  std::optional<Error> read_error;  // Of the next reads.
  int reads = 0;
  int reads_ahead = 0;
  bool in_memory = false;  // Reads need not be waited for.

 private:
  struct Queued {
    queue::WriteRequest request;
    std::shared_ptr<OneShot<queue::WriteAnswer>> answer;
  };

  static Slice placed(const Slice& batch, queue::Offset offset) {
    Buffer copy(batch.size());
    std::memcpy(copy.data(), batch.data(), copy.size());
    place_header(copy.span(), static_cast<std::int64_t>(offset), 0);
    return std::move(copy).freeze();
  }

  void finish_one() {
    if (stop_answering || queued_.empty()) return;
    Queued next = std::move(queued_.front());
    queued_.pop_front();
    if (!scripted.empty()) {
      queue::WriteAnswer answer = std::move(scripted.front());
      scripted.pop_front();
      next.answer->set(std::move(answer));
      return;
    }
    queue::StoredEntry entry;
    entry.count = next.request.count;
    entry.format = next.request.format;
    entry.max_timestamp_ms = next.request.max_timestamp_ms;
    entry.payload = next.request.payload;
    if (entry.format == queue::EntryFormat::kKafkaBatch) {
      entry.payload = placed(entry.payload, end_);
    }
    queue::WriteAnswer answer;
    answer.offset = end_;
    store(std::move(entry));
    next.answer->set(std::move(answer));
  }

  Executor& executor_;
  queue::Offset start_ = 0;
  queue::Offset end_ = 0;
  std::uint64_t bytes_ = 0;
  std::vector<queue::StoredEntry> entries_;
  std::deque<Queued> queued_;
  std::map<std::string, queue::ConsumerOffset> committed_;
  std::map<std::uint64_t, Callback> watchers_;
  std::uint64_t next_watch_ = 0;
};

class FakeTopics final : public Topics {
 public:
  explicit FakeTopics(Executor& executor) : executor_(executor) {}

  Task<Result<TopicPtr>> create(std::string name, TopicSpec spec) override {
    co_await sleep_for(executor_, 1ms);
    if (find(name)) co_return fail(Errc::kAlreadyExists, name);
    if (failed_create) co_return std::unexpected(*failed_create);
    TopicInfo info;
    info.name = name;
    info.id[0] = static_cast<std::uint8_t>(++made_);
    info.partitions = spec.partitions;
    info.config = std::move(spec.config);
    topics_[name] = std::make_shared<TopicInfo>(std::move(info));
    co_return topics_[name];
  }
  Task<Result<TopicPtr>> alter(std::string name, TopicChange change) override {
    co_await sleep_for(executor_, 1ms);
    const TopicPtr old = find(name);
    if (!old) co_return fail(Errc::kNotFound, name);
    TopicInfo info = *old;
    if (change.partitions) info.partitions = *change.partitions;
    if (change.replace_config) info.config.clear();
    for (const auto& [key, value] : change.config) {
      info.config.erase(key);
      if (value) info.config[key] = *value;
    }
    topics_[name] = std::make_shared<TopicInfo>(std::move(info));
    co_return topics_[name];
  }
  Task<Result<void>> remove(std::string name) override {
    if (topics_.erase(name) == 0) co_return fail(Errc::kNotFound, name);
    co_return Result<void>();
  }
  TopicPtr find(const std::string& name) const override {
    const auto found = topics_.find(name);
    return found == topics_.end() ? nullptr : found->second;
  }
  TopicPtr find(const TopicId& id) const override {
    for (const auto& [name, topic] : topics_) {
      if (topic->id == id) return topic;
    }
    return nullptr;
  }
  std::vector<TopicPtr> list() const override {
    std::vector<TopicPtr> all;
    for (const auto& [name, topic] : topics_) all.push_back(topic);
    return all;
  }
  std::shared_ptr<queue::Partition> partition(const TopicId& topic,
                                              queue::PartitionIndex index) override {
    if (starting) return nullptr;
    return fake(topic, index);
  }
  std::optional<Error> start_error(const TopicId&, queue::PartitionIndex) const override {
    return failed_start;
  }

  std::shared_ptr<FakePartition> fake(const TopicId& topic, queue::PartitionIndex index) {
    auto& slot = partitions_[{topic, index}];
    if (!slot) slot = std::make_shared<FakePartition>(executor_);
    return slot;
  }
  bool starting = false;
  std::optional<Error> failed_start;
  std::optional<Error> failed_create;  // Of topics that do not exist.

 private:
  Executor& executor_;
  int made_ = 0;
  std::map<std::string, TopicPtr> topics_;
  std::map<std::pair<TopicId, queue::PartitionIndex>, std::shared_ptr<FakePartition>> partitions_;
};

class FakeGroups final : public Groups {
 public:
  explicit FakeGroups(Executor& executor) : executor_(executor) {}

  Duration join_delay = 1s;
  ErrorCode commit_verdict = ErrorCode::kNone;
  std::map<std::string, std::string> known;             // Group to subscribed topic.
  std::string state = "Empty";                          // Of all that are known.
  std::vector<DescribeGroupsResponse::Member> members;  // Likewise.
  GroupClient last_client;

  Task<JoinGroupResponse> join(JoinGroupRequest request, std::int16_t,
                               GroupClient client) override {
    last_client = std::move(client);
    co_await sleep_for(executor_, join_delay);
    JoinGroupResponse response;
    response.generation_id = 1;
    response.member_id = request.member_id;
    co_return response;
  }
  Task<SyncGroupResponse> sync(SyncGroupRequest, std::int16_t) override {
    co_return SyncGroupResponse{};
  }
  Task<HeartbeatResponse> heartbeat(HeartbeatRequest) override { co_return HeartbeatResponse{}; }
  Task<LeaveGroupResponse> leave(LeaveGroupRequest, std::int16_t) override {
    co_return LeaveGroupResponse{};
  }
  Task<DescribeGroupsResponse> describe(DescribeGroupsRequest request) override {
    DescribeGroupsResponse response;
    for (const std::string& id : request.groups) {
      auto& group = response.groups.emplace_back();
      group.group_id = id;
      group.group_state = !known.contains(id) ? "Dead" : state;
      if (known.contains(id)) group.members = members;
    }
    co_return response;
  }
  Task<std::size_t> list_bytes() override { co_return known.size() * 100; }
  Task<ListGroupsResponse> list(ListGroupsRequest) override {
    ListGroupsResponse response;
    for (const auto& [group, topic] : known) response.groups.emplace_back().group_id = group;
    co_return response;
  }
  Task<ErrorCode> admit_commit(const OffsetCommitRequest&) override { co_return commit_verdict; }
  Task<ErrorCode> remove(std::string group) override {
    co_return known.erase(group) > 0 ? ErrorCode::kNone : ErrorCode::kGroupIdNotFound;
  }
  Task<bool> exists(std::string group) override { co_return known.contains(group); }
  Task<bool> subscribed(std::string group, std::string topic) override {
    const auto found = known.find(group);
    co_return found != known.end() && found->second == topic;
  }

 private:
  Executor& executor_;
};

class FakeProducerIds final : public ProducerIds {
 public:
  bool available = true;
  Task<Result<std::int64_t>> next() override {
    if (!available) co_return fail(Errc::kUnavailable, "no tablet");
    co_return ++last_;
  }

 private:
  std::int64_t last_ = 0;
};

}  // namespace moraine::kafka

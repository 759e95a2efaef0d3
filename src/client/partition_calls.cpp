#include "client/partition_calls.h"

#include <algorithm>

namespace moraine {
namespace {

using queue::Partition;

constexpr std::size_t kFiguresRoom = 8 << 10;  // A reply without entries and consumers.

Errc code_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
    case Refusal::kStaleSession: return Errc::kUnavailable;
    case Refusal::kNotHere: return Errc::kNotHere;
    case Refusal::kOverloaded: return Errc::kOverloaded;
    case Refusal::kExpired: return Errc::kTimeout;
  }
  return Errc::kUnavailable;
}

Slice expired(PartitionReply reply) {
  return refuse_call(std::move(reply), Refusal::kExpired, "the request's time is over");
}

// The first ones, as far as they have room.
void keep_entries(PartitionReply& reply, std::vector<queue::StoredEntry> entries,
                  std::size_t room) {
  std::size_t bytes = 0;
  for (queue::StoredEntry& entry : entries) {
    const std::size_t size = encoded_size(entry);
    if (bytes + size > std::min(room, kReplyRoomMax)) {
      if (reply.entries.empty()) reply.needs = size;
      return;
    }
    if (reply.entries.size() >= kEntriesPerReplyMax) return;
    bytes += size;
    reply.entries.push_back(std::move(entry));
  }
}

void keep_entry(PartitionReply& reply, Result<std::optional<queue::StoredEntry>> found,
                std::size_t room) {
  if (!found) {
    reply.status = std::unexpected(std::move(found).error());
  } else if (*found) {
    std::vector<queue::StoredEntry> one;
    one.push_back(std::move(**found));
    keep_entries(reply, std::move(one), room);
  }
}

Task<void> carry_out(Partition& partition, PartitionCall call, PartitionReply& reply) {
  if (auto* write = std::get_if<WriteCall>(&call)) {
    std::vector<std::shared_ptr<OneShot<queue::WriteAnswer>>> pending;
    for (queue::WriteRequest& request : write->writes) {
      pending.push_back(partition.write(std::move(request)));
    }
    for (const auto& answer : pending) reply.answers.push_back(co_await *answer);
  } else if (auto* commit = std::get_if<CommitOffsetCall>(&call)) {
    reply.status = co_await partition.commit(std::move(commit->offset));
  } else if (auto* forget = std::get_if<ForgetConsumerCall>(&call)) {
    reply.status = co_await partition.forget_consumer(std::move(forget->consumer));
  } else if (const auto* trim = std::get_if<TrimCall>(&call)) {
    const Result<queue::Offset> start = co_await partition.trim(trim->offset);
    reply.start = start.value_or(0);
    if (!start) reply.status = std::unexpected(start.error());
  }
}

Task<void> read_page(Partition& partition, ReadCall call, PartitionReply& reply) {
  queue::ReadRequest request;
  request.offset = call.offset;
  request.bytes_max = std::min<std::size_t>(call.bytes_max, kPartitionPageBytes);
  request.entries_max = std::min<std::size_t>(call.entries_max, kEntriesPerReplyMax);
  Result<queue::ReadAnswer> answer = co_await partition.read(request);
  if (!answer) {
    reply.status = std::unexpected(std::move(answer).error());
    co_return;
  }
  reply.start = answer->start;
  reply.end = answer->end;
  keep_entries(reply, std::move(answer->entries), call.room);
}

void describe(const Partition& partition, const DescribeCall& call, PartitionReply& reply) {
  if (call.what == Described::kConsumer) {
    if (auto known = partition.committed(call.name)) reply.consumers.push_back(std::move(*known));
  } else if (call.what == Described::kConsumers) {
    reply.consumers = partition.committed_after(call.name, kConsumersPerReplyMax + 1);
    reply.more = reply.consumers.size() > kConsumersPerReplyMax;
    if (reply.more) reply.consumers.pop_back();
  }
}

Task<void> read_from(Partition& partition, PartitionCall call, PartitionReply& reply) {
  if (const auto* read = std::get_if<ReadCall>(&call)) {
    co_await read_page(partition, *read, reply);
  } else if (const auto* time = std::get_if<FindTimeCall>(&call)) {
    keep_entry(reply, co_await partition.find_time_from(time->from, time->time_ms), time->room);
  } else if (const auto* newest = std::get_if<FindNewestCall>(&call)) {
    keep_entry(reply, co_await partition.find_newest(), newest->room);
  } else if (const auto* asked = std::get_if<DescribeCall>(&call)) {
    describe(partition, *asked, reply);
  }
}

}  // namespace

// The largest reply, as read and as encoded.
std::size_t reply_room(const PartitionCall& call) {
  std::size_t room = kFiguresRoom;
  if (const auto* read = std::get_if<ReadCall>(&call)) room += read->room;
  if (const auto* time = std::get_if<FindTimeCall>(&call)) room += time->room;
  if (const auto* newest = std::get_if<FindNewestCall>(&call)) room += newest->room;
  const auto* described = std::get_if<DescribeCall>(&call);
  if (described && described->what == Described::kConsumers) room += kConsumersReplyBytes;
  return 2 * std::min(room, kFrameBytesMax);
}

Slice refuse_call(PartitionReply reply, Refusal refusal, std::string why) {
  reply.refusal = refusal;
  reply.status = fail(code_of(refusal), std::move(why));
  return encode(reply);
}

Slice finish_reply(PartitionReply reply, const Partition& partition) {
  reply.stopped = partition.stopped();
  reply.info = partition.info();
  return encode(reply);
}

Task<CallOutcome> call_partition(HomePartition home, std::shared_ptr<std::uint64_t> moments,
                                 PartitionCall call, Instant deadline, PartitionReply reply) {
  if (home.home->now() >= deadline) co_return CallOutcome{expired(std::move(reply)), false};
  Partition& partition = *home.partition;
  if (change_of(call) != nullptr) {
    co_await carry_out(partition, std::move(call), reply);
  } else {
    co_await read_from(partition, std::move(call), reply);
  }
  reply.moment = ++*moments;
  co_return CallOutcome{finish_reply(std::move(reply), partition), true};
}

}  // namespace moraine

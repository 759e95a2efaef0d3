#include "sim/topics/topic_clients.h"

#include <fmt/format.h>

#include <algorithm>

namespace moraine::sim {

using queue::Numbering;
using queue::Offset;
using queue::WriteAnswer;
using queue::WriteRequest;
using queue::WriteStatus;

namespace {

constexpr Duration kCallTime = 10s;  // Afterwards the outcome counts as unknown.
constexpr std::size_t kReadBytes = 60'000;
constexpr std::uint32_t kProducersPerPartition = 100;  // Ids are below this in each.
constexpr std::size_t kEntryBytesMin = 24;             // Enough for the name.

TopicAnswer answer_kind(const std::optional<WriteAnswer>& answer) {
  return answer ? static_cast<TopicAnswer>(answer->status) : TopicAnswer::kTimeout;
}

Task<void> await_write(std::shared_ptr<OneShot<WriteAnswer>> answer,
                       std::shared_ptr<OneShot<std::optional<WriteAnswer>>> reply) {
  reply->set(co_await *answer);
}

Task<void> run_read(std::shared_ptr<queue::Partition> partition, queue::ReadRequest request,
                    std::shared_ptr<OneShot<std::optional<Result<queue::ReadAnswer>>>> reply) {
  reply->set(co_await partition->read(request));
}

Task<void> run_commit(std::shared_ptr<queue::Partition> partition, queue::ConsumerOffset offset,
                      std::shared_ptr<OneShot<std::optional<Result<void>>>> reply) {
  reply->set(co_await partition->commit(std::move(offset)));
}

Task<void> run_trim(std::shared_ptr<queue::Partition> partition, Offset offset,
                    std::shared_ptr<OneShot<std::optional<Result<Offset>>>> reply) {
  reply->set(co_await partition->trim(offset));
}

bool stored(const std::optional<WriteAnswer>& answer) {
  return answer &&
         (answer->status == WriteStatus::kOk || answer->status == WriteStatus::kDuplicate);
}

}  // namespace

TopicClients::TopicClients(SimWorld& world, TopicHosts& hosts, TopicModel& model, History& history,
                           TopicOptions options)
    : world_(world),
      hosts_(hosts),
      model_(model),
      history_(history),
      options_(std::move(options)) {}

void TopicClients::start() {
  std::uint32_t place = 0;
  for (std::uint64_t tablet = 1; tablet <= options_.tablets; ++tablet) {
    for (std::size_t i = 0; i < options_.partitions_max; ++i, ++place) {
      const PartitionName partition{tablet, static_cast<queue::PartitionIndex>(i)};
      for (std::size_t k = 0; k < options_.producers + options_.pipelines; ++k) {
        const auto id = static_cast<std::uint32_t>(place * kProducersPerPartition + k);
        auto producer = std::make_unique<Producer>(
            Producer{partition, id, Numbering::kNone, world_.stream("producer", id), 0, 0, {}});
        producer->numbering = k % 3 == 0   ? Numbering::kSeqNo
                              : k % 3 == 1 ? Numbering::kSequence
                                           : Numbering::kNone;
        if (producer->numbering == Numbering::kSeqNo) producer->next_number = 1;
        if (producer->numbering == Numbering::kSequence && options_.sequences_wrap) {
          producer->next_number = 0x80000000u - 1 - producer->random.below(30);
        }
        const bool waits = k < options_.producers;
        scope_.spawn(waits ? produce(std::move(producer))
                           : produce_in_pipelines(std::move(producer)));
      }
      scope_.spawn(audit(partition, world_.stream("auditor", place)));
      scope_.spawn(read_randomly(partition, world_.stream("wanderer", place)));
    }
  }
}

Task<void> TopicClients::think(SeededRandom& random) {
  co_await sleep_for(
      world_.executor(),
      Duration(1 + random.below(static_cast<std::uint64_t>(options_.think_max.count()))));
}

template <class T>
void TopicClients::give_up_later(const Reply<T>& reply) {
  world_.executor().schedule(world_.executor().now() + kCallTime,
                             [reply] { reply->set(std::nullopt); });
}

std::shared_ptr<queue::Partition> TopicClients::find(const Leader& leader,
                                                     const PartitionName& partition) {
  if (!leader->running) return nullptr;
  auto found = leader->running->partition(partition.index);
  if (found) {
    const queue::PartitionInfo info = found->info();
    model_.bounds(partition, leader->generation, info.start, info.end);
  }
  return found;
}

void TopicClients::fill_window(Producer& producer) {
  SeededRandom& random = producer.random;
  std::size_t most = options_.window_max;
  if (producer.numbering == Numbering::kNone) most = 1;
  // Only this many are remembered with their offsets.
  if (producer.numbering == Numbering::kSequence) most = std::min(most, queue::kSequenceWindow);
  const std::size_t wanted = 1 + random.below(most);
  while (producer.window.size() < wanted) {
    Entry entry;
    entry.name = {producer.id, producer.next_index++};
    entry.number = producer.next_number;
    entry.size = kEntryBytesMin + random.below(options_.message_bytes_max);
    if (producer.numbering == Numbering::kSequence) {
      entry.count = 1 + static_cast<std::uint32_t>(random.below(3));
      producer.next_number = (producer.next_number + entry.count) % 0x80000000u;
    } else {
      producer.next_number += 1 + random.below(2);
    }
    if (producer.numbering == Numbering::kSeqNo && random.one_in(6)) {
      entry.parts = 2 + static_cast<std::uint32_t>(random.below(3));
    }
    SentMessage message;
    message.size = entry.size;
    message.count = entry.count;
    message.number = entry.number;
    model_.sent(producer.partition, entry.name, message);
    producer.window.push_back(std::move(entry));
  }
}

std::vector<WriteRequest> TopicClients::requests_of(const Producer& producer,
                                                    const Entry& entry) const {
  const Slice payload = Slice::copy_of(payload_of(entry.name, entry.size));
  std::vector<WriteRequest> requests;
  const std::size_t cut = payload.size() / entry.parts;
  for (std::uint32_t part = 0; part < entry.parts; ++part) {
    WriteRequest request;
    const std::size_t at = cut * part;
    request.payload = payload.sub(at, part + 1 == entry.parts ? payload.size() - at : cut);
    request.count = entry.count;
    request.producer = {fmt::format("source {}", producer.id), producer.numbering, entry.number, 0};
    request.part = part;
    request.parts = entry.parts;
    requests.push_back(std::move(request));
  }
  return requests;
}

std::vector<TopicClients::Reply<WriteAnswer>> TopicClients::start_send(
    Leader leader, PartitionName partition, std::vector<WriteRequest> requests) {
  std::vector<Reply<WriteAnswer>> replies;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    replies.push_back(std::make_shared<OneShot<std::optional<WriteAnswer>>>());
    give_up_later<WriteAnswer>(replies.back());
  }
  leader->executor->post([this, leader, partition, requests = std::move(requests), replies] {
    const auto found = find(leader, partition);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (found) {
        spawn(await_write(found->write(requests[i]), replies[i]));
      } else {
        replies[i]->set(queue::refused(WriteStatus::kStopped, "not here"));
      }
    }
  });
  return replies;
}

Task<TopicClients::Answers> TopicClients::send(Leader leader, PartitionName partition,
                                               std::vector<WriteRequest> requests) {
  const auto replies = start_send(leader, partition, std::move(requests));
  Answers answers;
  for (const auto& reply : replies) answers.push_back(co_await *reply);
  co_await yield(world_.executor());
  co_return answers;
}

Task<void> TopicClients::produce(std::unique_ptr<Producer> producer) {
  while (keep_running()) {
    co_await think(producer->random);
    const Leader leader = hosts_.leader(producer->partition.tablet, producer->random);
    if (!keep_running() || !leader || !there(producer->partition)) continue;
    fill_window(*producer);
    std::vector<WriteRequest> requests;
    for (const Entry& entry : producer->window) {
      for (WriteRequest& request : requests_of(*producer, entry)) {
        requests.push_back(std::move(request));
      }
    }
    const Answers answers = co_await send(leader, producer->partition, std::move(requests));
    take_answers(*producer, answers);
  }
}

// A message in parts is stored with its last part.
std::optional<WriteAnswer> TopicClients::whole_answer(const Answers& answers, std::size_t at,
                                                      std::uint32_t parts) {
  const std::size_t last = at + parts - 1;
  while (at < last && stored(answers[at])) ++at;
  return answers[at];
}

void TopicClients::take_answers(Producer& producer, const Answers& answers) {
  std::size_t at = 0;
  for (Entry& entry : producer.window) {
    take_answer(producer, entry, whole_answer(answers, at, entry.parts));
    at += entry.parts;
  }
  std::erase_if(producer.window, [](const Entry& entry) { return entry.done; });
  if (producer.numbering == Numbering::kNone) producer.window.clear();
}

void TopicClients::take_answer(Producer& producer, Entry& entry,
                               const std::optional<WriteAnswer>& answer) {
  const TopicCommand command = entry.parts > 1                           ? TopicCommand::kWriteParts
                               : producer.numbering == Numbering::kSeqNo ? TopicCommand::kWriteSeqNo
                               : producer.numbering == Numbering::kSequence
                                   ? TopicCommand::kWriteSequence
                                   : TopicCommand::kWritePlain;
  history_.tally.add(command, answer_kind(answer));
  if (history_.verbose()) {
    history_.say(fmt::format("producer {} entry {} number {}: {} {}", producer.id, entry.name.index,
                             entry.number, answer ? queue::to_string(answer->status) : "timeout",
                             answer && answer->offset ? std::to_string(*answer->offset) : ""));
  }
  if (!answer) return;
  switch (answer->status) {
    case WriteStatus::kOk:
    case WriteStatus::kDuplicate:
      model_.acknowledged(producer.partition, entry.name, answer->offset);
      entry.done = true;
      return;
    case WriteStatus::kOutOfOrder:
    case WriteStatus::kStaleEpoch:
      return history_.fail(fmt::format("producer {}, which sends in order, got: {} ({})",
                                       producer.id, queue::to_string(answer->status),
                                       answer->detail));
    case WriteStatus::kInvalid:
      if (entry.parts > 1) return;
      return history_.fail(fmt::format("producer {} got: {}", producer.id, answer->detail));
    case WriteStatus::kUnknown: return;
    default:
      if (producer.numbering == Numbering::kNone) model_.refused(producer.partition, entry.name);
  }
}

Task<std::optional<Result<queue::ReadAnswer>>> TopicClients::read(Leader leader,
                                                                  PartitionName partition,
                                                                  queue::ReadRequest request) {
  auto reply = std::make_shared<OneShot<std::optional<Result<queue::ReadAnswer>>>>();
  give_up_later<Result<queue::ReadAnswer>>(reply);
  leader->executor->post([this, leader, partition, request, reply] {
    if (auto found = find(leader, partition)) {
      spawn(run_read(std::move(found), request, reply));
    } else {
      reply->set(fail(Errc::kUnavailable, "not here"));
    }
  });
  auto answer = co_await *reply;
  co_await yield(world_.executor());
  history_.tally.add(TopicCommand::kRead, !answer   ? TopicAnswer::kTimeout
                                          : *answer ? TopicAnswer::kOk
                                                    : TopicAnswer::kFailed);
  if (answer && !*answer && (*answer).error().code == Errc::kCorrupt) {
    history_.fail(fmt::format("tablet {} partition {}: {}", partition.tablet, partition.index,
                              (*answer).error().message()));
  }
  if (answer && *answer) {
    for (const queue::StoredEntry& entry : (*answer)->entries) model_.seen(partition, entry);
  }
  co_return answer;
}

Task<void> TopicClients::commit(Leader leader, PartitionName partition, std::string consumer,
                                Offset offset) {
  model_.commit_sent(partition, consumer, offset);
  auto reply = std::make_shared<OneShot<std::optional<Result<void>>>>();
  give_up_later<Result<void>>(reply);
  leader->executor->post([this, leader, partition, consumer, offset, reply] {
    if (auto found = find(leader, partition)) {
      spawn(run_commit(std::move(found), {consumer, offset, "", -1, 0}, reply));
    } else {
      reply->set(fail(Errc::kUnavailable, "not here"));
    }
  });
  const auto answer = co_await *reply;
  const bool done = answer && *answer;
  if (done) model_.commit_done(partition, consumer, offset);
  co_await yield(world_.executor());
  history_.tally.add(TopicCommand::kCommit, !answer ? TopicAnswer::kTimeout
                                            : done  ? TopicAnswer::kOk
                                                    : TopicAnswer::kFailed);
}

Task<void> TopicClients::trim(Leader leader, PartitionName partition, Offset offset) {
  auto reply = std::make_shared<OneShot<std::optional<Result<Offset>>>>();
  give_up_later<Result<Offset>>(reply);
  leader->executor->post([this, leader, partition, offset, reply] {
    if (auto found = find(leader, partition)) {
      spawn(run_trim(std::move(found), offset, reply));
    } else {
      reply->set(fail(Errc::kUnavailable, "not here"));
    }
  });
  const auto answer = co_await *reply;
  co_await yield(world_.executor());
  history_.tally.add(TopicCommand::kTrim, !answer   ? TopicAnswer::kTimeout
                                          : *answer ? TopicAnswer::kOk
                                                    : TopicAnswer::kFailed);
}

// Reads everything, in order, and commits its offset.
Task<void> TopicClients::audit(PartitionName partition, SeededRandom random) {
  Offset& position = audited_[partition];
  while (keep_running()) {
    co_await think(random);
    const Leader leader = hosts_.leader(partition.tablet, random);
    if (!keep_running() || !leader || !there(partition)) continue;
    const auto answer = co_await read(leader, partition, {position, kReadBytes});
    if (answer && *answer) {
      for (const queue::StoredEntry& entry : (*answer)->entries) {
        if (entry.offset + entry.count <= position) continue;
        if (entry.offset > position) {
          history_.fail(fmt::format("tablet {} partition {}: the auditor is at {} and reads {}",
                                    partition.tablet, partition.index, position, entry.offset));
        }
        position = entry.offset + entry.count;
      }
    }
    if (!keep_running() || !random.one_in(2)) continue;
    if (position > 0) co_await commit(leader, partition, kAuditor, position);
  }
}

// Reads at random, moves back and forth, and removes what the auditor has read.
Task<void> TopicClients::read_randomly(PartitionName partition, SeededRandom random) {
  Offset end = 0;
  while (keep_running()) {
    co_await think(random);
    const Leader leader = hosts_.leader(partition.tablet, random);
    if (!keep_running() || !leader || !there(partition)) continue;
    const std::uint64_t dice = random.below(10);
    if (dice < 6) {
      const auto answer =
          co_await read(leader, partition, {random.below(end + 1), random.below(kReadBytes)});
      if (answer && *answer) end = (*answer)->end;
    } else if (dice < 9) {
      co_await commit(leader, partition, "wanderer", random.below(end + 1));
    } else {
      const Offset read_up_to = model_.committed(partition, kAuditor);
      co_await trim(leader, partition, random.below(read_up_to + 1));
    }
  }
}

}  // namespace moraine::sim

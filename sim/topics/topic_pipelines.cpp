// Producers that send without waiting for replies.

#include "sim/topics/topic_clients.h"

namespace moraine::sim {

using queue::WriteAnswer;
using queue::WriteStatus;

namespace {

constexpr std::uint64_t kPace = 4;  // Entries sent per think time of other producers, on average.
constexpr std::uint64_t kPipelineSends = 100;  // Until it chooses another leader, on average.
constexpr Duration kPoll = 1ms;

}  // namespace

// Each pipeline has one leader, and ends when everything in it is answered.
Task<void> TopicClients::produce_in_pipelines(std::unique_ptr<Producer> producer) {
  while (keep_running()) {
    co_await think(producer->random);
    const Leader leader = hosts_.leader(producer->partition.tablet, producer->random);
    if (!keep_running() || !leader || !there(producer->partition)) continue;
    Pipeline pipeline{*producer, leader};
    co_await run_pipeline(pipeline);
  }
}

Task<void> TopicClients::run_pipeline(Pipeline& pipeline) {
  SeededRandom& random = pipeline.producer.random;
  const auto pace = static_cast<std::uint64_t>(options_.think_max.count()) / kPace;
  while (keep_running() && !pipeline.broken && !random.one_in(kPipelineSends)) {
    fill_window(pipeline.producer);
    send_next(pipeline);
    // Sometimes several at once.
    if (!random.one_in(3)) {
      co_await sleep_for(world_.executor(), Duration(1 + random.below(2 * pace)));
    }
  }
  while (pipeline.in_flight > 0) co_await sleep_for(world_.executor(), kPoll);
}

// The lowest number that is not in flight.
void TopicClients::send_next(Pipeline& pipeline) {
  Producer& producer = pipeline.producer;
  for (Entry& entry : producer.window) {
    if (entry.done || entry.in_flight) continue;
    entry.in_flight = true;
    ++pipeline.in_flight;
    auto replies = start_send(pipeline.leader, producer.partition, requests_of(producer, entry));
    scope_.spawn(await_entry(pipeline, entry.name.index, pipeline.sent++, std::move(replies)));
    return;
  }
}

// One stream carries the answers: they arrive in the order of the requests.
Task<void> TopicClients::await_entry(Pipeline& pipeline, std::uint64_t index, std::uint64_t turn,
                                     std::vector<Reply<WriteAnswer>> replies) {
  Answers answers;
  for (const auto& reply : replies) answers.push_back(co_await *reply);
  co_await yield(world_.executor());
  while (pipeline.answered < turn) co_await sleep_for(world_.executor(), kPoll);
  ++pipeline.answered;
  Producer& producer = pipeline.producer;
  Entry& entry = producer.window[index - producer.window.front().name.index];
  const std::optional<WriteAnswer> answer = whole_answer(answers, 0, entry.parts);
  take_answer(producer, entry, answer);
  entry.in_flight = false;
  while (!producer.window.empty() && producer.window.front().done) producer.window.pop_front();
  if (!answer || answer->status == WriteStatus::kUnknown ||
      answer->status == WriteStatus::kStopped) {
    pipeline.broken = true;
  }
  --pipeline.in_flight;
}

}  // namespace moraine::sim

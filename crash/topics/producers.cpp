#include "crash/topics/producers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace moraine::crash {
namespace {

constexpr std::uint64_t kBurstMax = 40;
constexpr std::uint64_t kPauseMsMax = 20;
constexpr int kPollMs = 5;
constexpr std::array<const char*, 5> kCodecs{"none", "lz4", "zstd", "snappy", "gzip"};
constexpr std::array<const char*, 3> kLingers{"0", "1", "5"};
constexpr std::array<const char*, 3> kBatchMessages{"10000", "7", "100"};

void* as_opaque(std::uint64_t number) {
  return reinterpret_cast<void*>(number);  // NOLINT(performance-no-int-to-ptr): only carried.
}

}  // namespace

Result<std::unique_ptr<Producer>> Producer::open(const std::string& address,
                                                 const std::string& topic, TopicTruth& truth,
                                                 std::uint32_t number, std::uint64_t seed) {
  std::unique_ptr<Producer> producer(new Producer(truth, number, seed));
  const KafkaSettings settings{
      {"client.id", fmt::format("producer-{}", number)},
      {"enable.idempotence", "true"},
      {"acks", "all"},
      {"retries", "2147483647"},
      {"message.timeout.ms", "3600000"},
      {"queue.buffering.max.messages", std::to_string(kMessagesWaitingMax)},
      {"linger.ms", kLingers[number % kLingers.size()]},
      {"batch.num.messages", kBatchMessages[number % kBatchMessages.size()]},
      {"compression.type", kCodecs[number % kCodecs.size()]}};
  TRY(producer->client_,
      open_client(RD_KAFKA_PRODUCER, address, settings, [&](rd_kafka_conf_t* conf) {
        rd_kafka_conf_set_opaque(conf, producer.get());
        rd_kafka_conf_set_dr_msg_cb(conf, delivered);
      }));
  producer->topic_.reset(rd_kafka_topic_new(producer->client_.get(), topic.c_str(), nullptr));
  if (!producer->topic_) return fail(Errc::kInvalidArgument, "no handle of a topic");
  producer->thread_ = std::thread(&Producer::run, producer.get());
  return producer;
}

Producer::~Producer() {
  ending_ = true;
  if (thread_.joinable()) thread_.join();
  if (!client_) return;
  // Messages in flight stay in doubt: no more deliveries are reported.
  rd_kafka_purge(client_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
}

void Producer::delivered(rd_kafka_t* client, const rd_kafka_message_t* message, void* opaque) {
  auto& self = *static_cast<Producer*>(opaque);
  const MessageId id{self.number_, reinterpret_cast<std::uint64_t>(message->_private)};
  if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
    self.truth_.acknowledged(id, message->partition, message->offset);
    return;
  }
  std::array<char, 512> why{};
  const rd_kafka_resp_err_t fatal = rd_kafka_fatal_error(client, why.data(), why.size());
  self.truth_.gave_up(
      id, fatal == RD_KAFKA_RESP_ERR_NO_ERROR
              ? rd_kafka_err2str(message->err)
              : fmt::format("{}; fatal: {}", rd_kafka_err2str(message->err), why.data()));
}

void Producer::run() {
  while (!ending_) {
    if (resting_ || failed()) {
      rd_kafka_poll(client_.get(), kPollMs);
      idle_ = rd_kafka_outq_len(client_.get()) == 0;
      continue;
    }
    idle_ = false;
    burst();
    rd_kafka_poll(client_.get(), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1 + random_.below(kPauseMsMax)));
  }
}

bool Producer::failed() const {
  return rd_kafka_fatal_error(client_.get(), nullptr, 0) != RD_KAFKA_RESP_ERR_NO_ERROR;
}

void Producer::burst() {
  const auto partitions = static_cast<std::uint64_t>(truth_.partitions());
  const auto partition = static_cast<std::int32_t>(random_.below(partitions));
  const std::uint64_t count = 1 + random_.below(kBurstMax);
  for (std::uint64_t i = 0; i < count && !ending_ && !failed(); ++i) send(partition);
}

void Producer::send(std::int32_t partition) {
  const std::uint32_t size = draw_message_size(random_);
  const MessageId id = truth_.begin_send(number_, partition, size);
  std::string bytes = message_bytes(id, partition, size);
  while (!ending_ && rd_kafka_produce(topic_.get(), partition, RD_KAFKA_MSG_F_COPY, bytes.data(),
                                      bytes.size(), nullptr, 0, as_opaque(id.number)) != 0) {
    const rd_kafka_resp_err_t code = rd_kafka_last_error();
    const bool later = code == RD_KAFKA_RESP_ERR__QUEUE_FULL ||
                       code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
                       code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC;
    if (!later) {
      truth_.gave_up(id, rd_kafka_err2str(code));
      return;
    }
    rd_kafka_poll(client_.get(), kPollMs);
  }
}

Result<Producers> Producers::open(const std::string& address, const std::string& topic,
                                  TopicTruth& truth, Random& random) {
  Producers opened;
  for (std::uint32_t i = 0; i < truth.producers(); ++i) {
    TRY(auto producer, Producer::open(address, topic, truth, i, random.next()));
    opened.producers_.push_back(std::move(producer));
  }
  return opened;
}

void Producers::rest(bool resting) {
  for (const auto& producer : producers_) producer->rest(resting);
}

bool Producers::at_rest() const {
  return std::ranges::all_of(producers_, [](const auto& producer) { return producer->at_rest(); });
}

}  // namespace moraine::crash

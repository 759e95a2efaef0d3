#include "bench/topics_client.h"

#include <fmt/format.h>
#include <librdkafka/rdkafka.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <thread>

#include "bench/event_text.h"

namespace moraine::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Setting = std::pair<const char*, std::string>;

constexpr std::size_t kTextBytes = std::size_t{8} << 20;
constexpr std::uint64_t kPollEvery = 64;
constexpr int kAnswerMs = 60'000;
constexpr std::size_t kConsumeBatch = 10'000;
constexpr int kSilenceMs = 20'000;  // A broker that sends nothing for this long has failed.

struct Closer {
  void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
  void operator()(rd_kafka_topic_t* topic) const { rd_kafka_topic_destroy(topic); }
  void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
  void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
  void operator()(rd_kafka_event_t* event) const { rd_kafka_event_destroy(event); }
  void operator()(rd_kafka_AdminOptions_t* options) const {
    rd_kafka_AdminOptions_destroy(options);
  }
};
template <class T>
using Handle = std::unique_ptr<T, Closer>;

// A message is a slice of one of these texts.
const std::string& random_text() {
  static const std::string bytes = [] {
    constexpr std::string_view kLetters =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::mt19937_64 random(7);  // NOLINT(bugprone-random-generator-seed): the same text every run.
    std::string made(kTextBytes, ' ');
    for (char& c : made) c = kLetters[random() % kLetters.size()];
    return made;
  }();
  return bytes;
}

const std::string& events_text() {
  static const std::string bytes = [] {
    EventText events(7);
    std::string made;
    while (made.size() < kTextBytes) made += events.next();
    return made;
  }();
  return bytes;
}

const char* slice(const TopicLoad& load, std::uint64_t index) {
  const std::string& text = load.codec == "none" ? random_text() : events_text();
  return text.data() + index * 1'021 % (kTextBytes - kMessageBytes);
}

std::int32_t partition_of(const TopicLoad& load, std::uint64_t index) {
  const auto partitions = static_cast<std::uint64_t>(load.partitions);
  return static_cast<std::int32_t>(index / kMessagesPerTurn % partitions);
}

std::int64_t now_ns() {
  return std::chrono::nanoseconds(Clock::now().time_since_epoch()).count();
}

// The acknowledged messages.
struct Delivered {
  std::uint64_t good = 0;
  std::uint64_t bad = 0;
  std::string why;
  bool timed = false;
  std::vector<std::uint64_t> latencies;
};

void on_delivery(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
  auto& delivered = *static_cast<Delivered*>(opaque);
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    ++delivered.bad;
    delivered.why = rd_kafka_err2str(message->err);
    return;
  }
  ++delivered.good;
  if (delivered.timed) {
    delivered.latencies.push_back(static_cast<std::uint64_t>(rd_kafka_message_latency(message)) *
                                  1'000);
  }
}

Result<Handle<rd_kafka_t>> open(rd_kafka_type_t type, const std::string& address,
                                std::span<const Setting> settings, Delivered* delivered) {
  std::array<char, 512> why{};
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  std::vector<Setting> all{
      {"bootstrap.servers", address},     {"log_level", "0"},
      {"socket.nagle.disable", "true"},   {"reconnect.backoff.ms", "5"},
      {"reconnect.backoff.max.ms", "20"}, {"topic.metadata.refresh.fast.interval.ms", "20"}};
  all.insert(all.end(), settings.begin(), settings.end());
  for (const auto& [name, value] : all) {
    if (rd_kafka_conf_set(conf, name, value.c_str(), why.data(), why.size()) != RD_KAFKA_CONF_OK) {
      rd_kafka_conf_destroy(conf);
      return fail(Errc::kInvalidArgument, why.data());
    }
  }
  rd_kafka_conf_set_opaque(conf, delivered);
  if (type == RD_KAFKA_PRODUCER) rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
  Handle<rd_kafka_t> client(rd_kafka_new(type, conf, why.data(), why.size()));
  if (!client) {
    rd_kafka_conf_destroy(conf);
    return fail(Errc::kInvalidArgument, why.data());
  }
  return client;
}

// A producer and its topic.
struct Writer {
  std::unique_ptr<Delivered> delivered;
  Handle<rd_kafka_t> client;
  Handle<rd_kafka_topic_t> topic;

  static Result<Writer> open(const TopicLoad& load) {
    std::vector<Setting> settings{
        {"acks", "all"},
        {"linger.ms", "1"},
        {"compression.type", load.codec},
        {"queue.buffering.max.messages", std::to_string(kMessagesWaitingMax)},
        {"message.timeout.ms", std::to_string(kAnswerMs)},
        {"enable.idempotence", load.idempotent ? "true" : "false"}};
    if (load.codec != "none") {
      settings.emplace_back("batch.size", std::to_string(kCompressedBatchBytes));
    }
    Writer writer{std::make_unique<Delivered>(), nullptr, nullptr};
    TRY(writer.client,
        bench::open(RD_KAFKA_PRODUCER, load.address, settings, writer.delivered.get()));
    writer.topic.reset(rd_kafka_topic_new(writer.client.get(), load.topic.c_str(), nullptr));
    return writer;
  }

  // Waits while too many messages are in flight.
  void send(std::int32_t partition, const char* bytes, int flags) const {
    while (rd_kafka_produce(topic.get(), partition, flags, const_cast<char*>(bytes), kMessageBytes,
                            nullptr, 0, nullptr) != 0) {
      if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL) return;
      rd_kafka_poll(client.get(), 10);
    }
  }

  Result<void> finish(std::uint64_t sent) const {
    rd_kafka_flush(client.get(), kAnswerMs);
    if (delivered->good == sent) return {};
    return fail(Errc::kUnavailable, fmt::format("{} of {} messages were acknowledged: {}",
                                                delivered->good, sent, delivered->why));
  }
};

// Calls send(index) at the rate for that long; returns the number of calls.
template <class Send>
std::uint64_t paced(rd_kafka_t* client, double seconds, double rate, Send send) {
  const Stopwatch watch;
  std::uint64_t sent = 0;
  for (double passed = 0; passed < seconds; passed = watch.seconds()) {
    const auto due = static_cast<std::uint64_t>(passed * rate);
    while (sent < due) send(sent++);
    rd_kafka_poll(client, 0);
    std::this_thread::sleep_for(200us);
  }
  return sent;
}

template <class Send>
std::uint64_t unpaced(rd_kafka_t* client, double seconds, Send send) {
  const Stopwatch watch;
  std::uint64_t sent = 0;
  while (watch.seconds() < seconds) {
    for (std::uint64_t i = 0; i < kPollEvery; ++i) send(sent++);
    rd_kafka_poll(client, 0);
  }
  return sent;
}

Result<void> error_of(const rd_kafka_topic_result_t* const* results, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const rd_kafka_resp_err_t code = rd_kafka_topic_result_error(results[i]);
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return fail(Errc::kUnavailable, rd_kafka_err2str(code));
    }
  }
  return {};
}

Handle<rd_kafka_AdminOptions_t> admin_options(rd_kafka_t* client, rd_kafka_admin_op_t operation) {
  std::array<char, 256> why{};
  Handle<rd_kafka_AdminOptions_t> options(rd_kafka_AdminOptions_new(client, operation));
  rd_kafka_AdminOptions_set_request_timeout(options.get(), kAnswerMs, why.data(), why.size());
  rd_kafka_AdminOptions_set_operation_timeout(options.get(), kAnswerMs, why.data(), why.size());
  return options;
}

// Every partition from `offset`, into one queue.
class Reader {
 public:
  static Result<Reader> open(const TopicLoad& load, std::int64_t offset) {
    const std::array<Setting, 1> settings{{{"enable.partition.eof", "false"}}};
    Reader reader;
    TRY(reader.client_, bench::open(RD_KAFKA_CONSUMER, load.address, settings, nullptr));
    reader.topic_.reset(rd_kafka_topic_new(reader.client_.get(), load.topic.c_str(), nullptr));
    reader.queue_.reset(rd_kafka_queue_new(reader.client_.get()));
    for (std::int32_t i = 0; i < load.partitions; ++i) {
      if (rd_kafka_consume_start_queue(reader.topic_.get(), i, offset, reader.queue_.get()) != 0) {
        return fail(Errc::kUnavailable, rd_kafka_err2str(rd_kafka_last_error()));
      }
    }
    reader.partitions_ = load.partitions;
    return reader;
  }
  Reader(Reader&&) = default;
  Reader& operator=(Reader&&) = delete;
  ~Reader() {
    if (!topic_) return;
    for (std::int32_t i = 0; i < partitions_; ++i) rd_kafka_consume_stop(topic_.get(), i);
  }

  // Waits for `count` messages, or as many as arrive within the time; returns how many.
  Result<std::uint64_t> take(std::uint64_t count, int wait_ms, std::uint64_t& bytes) {
    const auto got = rd_kafka_consume_batch_queue(queue_.get(), wait_ms, batch_.data(),
                                                  std::min<std::uint64_t>(count, kConsumeBatch));
    std::uint64_t good = 0;
    std::string why;
    for (std::size_t i = 0; i < static_cast<std::size_t>(std::max<ssize_t>(got, 0)); ++i) {
      if (batch_[i]->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        ++good;
        bytes += batch_[i]->len;
      } else {
        why = rd_kafka_message_errstr(batch_[i]);
      }
      rd_kafka_message_destroy(batch_[i]);
    }
    if (good == 0 && !why.empty()) return fail(Errc::kUnavailable, why);
    return good;
  }

  // The next message; null when none arrived within the time.
  Handle<rd_kafka_message_t> next(int wait_ms) const {
    return Handle<rd_kafka_message_t>(rd_kafka_consume_queue(queue_.get(), wait_ms));
  }

 private:
  Reader() : batch_(kConsumeBatch) {}

  Handle<rd_kafka_t> client_;
  Handle<rd_kafka_topic_t> topic_;
  Handle<rd_kafka_queue_t> queue_;
  std::int32_t partitions_ = 0;
  std::vector<rd_kafka_message_t*> batch_;
};

Round summed(std::uint64_t operations, double seconds) {
  Round round;
  round.operations = operations;
  round.bytes = operations * kMessageBytes;
  round.seconds = seconds;
  return round;
}

// Sends a message to each partition, so that the client is connected and knows the leaders.
Result<void> warm_writer(const Writer& writer, const TopicLoad& load) {
  for (std::int32_t i = 0; i < load.partitions; ++i) {
    writer.send(i, slice(load, static_cast<std::uint64_t>(i)), 0);
  }
  TRY_VOID(writer.finish(static_cast<std::uint64_t>(load.partitions)));
  writer.delivered->good = 0;
  return {};
}

}  // namespace

Result<void> create_topic(const TopicLoad& load) {
  TRY(const auto client, open(RD_KAFKA_PRODUCER, load.address, {}, nullptr));
  const Handle<rd_kafka_queue_t> queue(rd_kafka_queue_new(client.get()));
  std::array<char, 256> why{};
  rd_kafka_NewTopic_t* topic =
      rd_kafka_NewTopic_new(load.topic.c_str(), load.partitions, 1, why.data(), why.size());
  const auto options = admin_options(client.get(), RD_KAFKA_ADMIN_OP_CREATETOPICS);
  rd_kafka_CreateTopics(client.get(), &topic, 1, options.get(), queue.get());
  rd_kafka_NewTopic_destroy(topic);
  const Handle<rd_kafka_event_t> event(rd_kafka_queue_poll(queue.get(), kAnswerMs));
  if (!event) return fail(Errc::kTimeout, "no answer to creating a topic");
  if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return fail(Errc::kUnavailable, rd_kafka_event_error_string(event.get()));
  }
  std::size_t count = 0;
  const auto* results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event.get()), &count);
  return error_of(results, count);
}

Result<void> delete_topic(const TopicLoad& load) {
  TRY(const auto client, open(RD_KAFKA_PRODUCER, load.address, {}, nullptr));
  const Handle<rd_kafka_queue_t> queue(rd_kafka_queue_new(client.get()));
  rd_kafka_DeleteTopic_t* topic = rd_kafka_DeleteTopic_new(load.topic.c_str());
  const auto options = admin_options(client.get(), RD_KAFKA_ADMIN_OP_DELETETOPICS);
  rd_kafka_DeleteTopics(client.get(), &topic, 1, options.get(), queue.get());
  rd_kafka_DeleteTopic_destroy(topic);
  const Handle<rd_kafka_event_t> event(rd_kafka_queue_poll(queue.get(), kAnswerMs));
  if (!event) return fail(Errc::kTimeout, "no answer to deleting a topic");
  std::size_t count = 0;
  const auto* results =
      rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event.get()), &count);
  return error_of(results, count);
}

Result<void> touch(const TopicLoad& load) {
  TRY(const Writer writer, Writer::open(load));
  return warm_writer(writer, load);
}

Result<Round> produce(const TopicLoad& load, double seconds, double rate) {
  TRY(const Writer writer, Writer::open(load));
  TRY_VOID(warm_writer(writer, load));
  writer.delivered->timed = rate > 0;
  const auto send = [&](std::uint64_t index) {
    writer.send(partition_of(load, index), slice(load, index), 0);
  };
  const Stopwatch watch;
  const std::uint64_t sent = rate > 0 ? paced(writer.client.get(), seconds, rate, send)
                                      : unpaced(writer.client.get(), seconds, send);
  TRY_VOID(writer.finish(sent));
  Round round = summed(sent, watch.seconds());
  round.latencies = std::move(writer.delivered->latencies);
  return round;
}

Result<Round> consume(const TopicLoad& load, std::uint64_t count) {
  TRY(Reader reader, Reader::open(load, RD_KAFKA_OFFSET_BEGINNING));
  std::uint64_t bytes = 0;
  // Timed from the first messages on, without the client's start.
  TRY(std::uint64_t seen, reader.take(1, kSilenceMs, bytes));
  const Stopwatch watch;
  while (seen < count) {
    TRY(const std::uint64_t got, reader.take(count - seen, kSilenceMs, bytes));
    if (got == 0) {
      return fail(Errc::kTimeout, fmt::format("{} of {} messages came back", seen, count));
    }
    seen += got;
  }
  Round round = summed(count, watch.seconds());
  round.bytes = bytes;
  return round;
}

Result<Round> tail(const TopicLoad& load, double seconds, double rate) {
  TRY(const Writer writer, Writer::open(load));
  TRY_VOID(warm_writer(writer, load));
  TRY(Reader reader, Reader::open(load, RD_KAFKA_OFFSET_END));
  std::vector<std::uint64_t> latencies;
  std::atomic<bool> done = false;
  std::this_thread::sleep_for(500ms);  // Until the reader is at the end.
  std::jthread reading([&] {
    while (!done) {
      const auto message = reader.next(20);
      if (!message || message->err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
      std::int64_t sent_at = 0;
      std::memcpy(&sent_at, message->payload, sizeof sent_at);
      latencies.push_back(static_cast<std::uint64_t>(now_ns() - sent_at));
    }
  });
  std::string message(slice(load, 0), kMessageBytes);
  const Stopwatch watch;
  const auto send = [&](std::uint64_t index) {
    std::memcpy(message.data() + sizeof(std::int64_t), slice(load, index), kMessageBytes / 2);
    const std::int64_t now = now_ns();
    std::memcpy(message.data(), &now, sizeof now);
    writer.send(partition_of(load, index), message.data(), RD_KAFKA_MSG_F_COPY);
  };
  const std::uint64_t sent = paced(writer.client.get(), seconds, rate, send);
  const auto finished = writer.finish(sent);
  Round round = summed(sent, watch.seconds());
  std::this_thread::sleep_for(300ms);
  done = true;
  reading.join();
  TRY_VOID(finished);
  if (latencies.size() < sent / 2) {
    return fail(Errc::kTimeout, fmt::format("{} of {} messages came back", latencies.size(), sent));
  }
  round.latencies = std::move(latencies);
  return round;
}

Result<void> first_message(const TopicLoad& load) {
  const Stopwatch watch;
  TRY(const Writer writer, Writer::open(load));
  writer.send(0, slice(load, 0), 0);
  while (writer.delivered->good + writer.delivered->bad == 0 && watch.seconds() * 1e3 < kAnswerMs) {
    rd_kafka_poll(writer.client.get(), 1);
  }
  return writer.finish(1);
}

}  // namespace moraine::bench

// ServerContext: the shared state of all handlers.
//
// Threading  The connection's lane.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "client/topics.h"
#include "gateway/kafka/groups/groups.h"
#include "gateway/kafka/producer_ids.h"
#include "gateway/kafka/protocol/messages.h"
#include "gateway/kafka/server/answer_room.h"
#include "gateway/kafka/server/budget.h"
#include "gateway/kafka/server/client.h"
#include "gateway/kafka/server/metrics.h"
#include "gateway/kafka/server/options.h"
#include "gateway/kafka/server/slow_readers.h"
#include "io/background_work.h"
#include "io/executor.h"
#include "io/lane_lock.h"
#include "io/sync.h"
#include "io/world.h"

namespace moraine::kafka {

// The services that a server uses; all of them outlive it.
struct KafkaParts {
  Topics& topics;
  Groups& groups;
  ProducerIds& producer_ids;
  Executor& executor;
  WallClock& clock;
  MetricRegistry& metrics;
  LaneLock* config_changes = nullptr;  // Shared by the servers of all lanes. None: the only server.
  BackgroundWork* background = nullptr;  // None: long work is done on the lane.
};

// The error text for clients that use transactions.
inline constexpr std::string_view kNoTransactions =
    "this server has no transactions; use a producer without transactional.id";

// Rate-limited log lines of one event: kLinesMax in a period; the rest is counted in one line at
// the beginning of the next period that has an event.
class LimitedLog {
 public:
  static constexpr std::size_t kLinesMax = 10;
  static constexpr Duration kPeriod = 10s;

  // `rest` is the event of the counting line.
  LimitedLog(std::string_view event, std::string_view rest) : event_(event), rest_(rest) {}

  void write(Instant now, LogFields fields);

 private:
  std::string_view event_;
  std::string_view rest_;
  Instant since_;
  std::size_t lines_ = 0;
};

struct ServerContext {
  ServerContext(const KafkaParts& parts, KafkaOptions chosen)
      : topics(parts.topics),
        groups(parts.groups),
        producer_ids(parts.producer_ids),
        executor(parts.executor),
        clock(parts.clock),
        options(std::move(chosen)),
        metrics(parts.metrics),
        responses(parts.executor,
                  options.response_bytes_max - options.response_bytes_max / kReservedPart),
        reserved_responses(parts.executor, options.response_bytes_max / kReservedPart),
        slow_readers(parts.executor, responses, reserved_responses),
        own_config_changes(own_permits, parts.executor, parts.executor),
        config_changes(parts.config_changes ? *parts.config_changes : own_config_changes),
        background(parts.background) {}

  // Logs that a client uses an unsupported feature; its answer may not show the reason.
  void log_refusal(const Client& client, std::string_view reason) {
    refused_clients.write(executor.now(), {{"peer", client.peer()}, {"reason", reason}});
  }

  Topics& topics;
  Groups& groups;
  ProducerIds& producer_ids;
  Executor& executor;
  WallClock& clock;
  const KafkaOptions options;
  KafkaMetrics metrics;
  // The memory of answers: all buffers that their slices refer to. Beyond the two limits there are
  // kCrowdedUnsentBytesMax and kSmallAnswerBytes of each connection, and one answer that exceeds
  // each limit.
  ByteBudget responses;
  ByteBudget reserved_responses;
  SlowReaders slow_readers;
  LimitedLog closed_clients{"kafka client closed", "kafka clients closed"};
  LimitedLog refused_clients{"kafka client refused", "kafka clients refused"};
  LimitedLog damaged_reads{"messages cannot be read", "more reads of damaged messages"};
  Semaphore own_permits{executor, 1};
  LaneLock own_config_changes;
  LaneLock& config_changes;  // One change of configs at a time: it depends on earlier ones.
  BackgroundWork* const background;
  TaskScope writes;  // Writes whose outcome is not known yet.
};

// The memory of a request, from the service's budget; held as long as parts of the request are
// used.
using RequestMemory = std::shared_ptr<ByteBudget::Lease>;

// The request that a handler serves, besides its body.
struct RequestContext {
  std::int16_t version = 0;
  std::string client_id;
  std::shared_ptr<Client> client;
  RequestMemory memory;
  AnswerRoom* room = nullptr;  // Outlives the handler.
};

// A partition as a request names it.
struct FoundPartition {
  TopicPtr topic;
  std::shared_ptr<queue::Partition> partition;
  ErrorCode error = ErrorCode::kNone;  // If set, there is no partition.
  std::string reason;                  // Why it does not start.
};
FoundPartition find_partition(ServerContext& server, TopicPtr topic, std::int32_t index);
FoundPartition find_partition(ServerContext& server, const std::string& topic, std::int32_t index);

TopicId to_topic_id(const Uuid& id);
Uuid to_uuid(const TopicId& id);

// The error for the leader epoch of a client; -1: it knows none.
ErrorCode check_leader_epoch(std::int32_t known);

// The error code of a failed read or change of a partition.
ErrorCode partition_error(const Error& error);
// The error code of a failed change of a topic.
ErrorCode topic_error(const Error& error);

}  // namespace moraine::kafka

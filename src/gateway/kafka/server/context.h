// ServerContext: what the handlers of all APIs share.
//
// Threading  The node's executor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/kafka/groups/groups.h"
#include "gateway/kafka/producer_ids.h"
#include "gateway/kafka/protocol/messages.h"
#include "gateway/kafka/server/answer_room.h"
#include "gateway/kafka/server/budget.h"
#include "gateway/kafka/server/client.h"
#include "gateway/kafka/server/metrics.h"
#include "gateway/kafka/server/options.h"
#include "gateway/kafka/server/slow_readers.h"
#include "io/executor.h"
#include "io/sync.h"
#include "io/world.h"
#include "service/topics.h"

namespace moraine::kafka {

// What a server is built on; all of it outlives the server.
struct KafkaParts {
  Topics& topics;
  Groups& groups;
  ProducerIds& producer_ids;
  Executor& executor;
  WallClock& clock;
  MetricRegistry& metrics;
};

// What clients that use transactions are told.
inline constexpr std::string_view kNoTransactions =
    "this server has no transactions; use a producer without transactional.id";

// Lines about clients, so few that the log stays readable whatever clients do.
class ClientLog {
 public:
  static constexpr std::size_t kLinesMax = 10;
  static constexpr Duration kPeriod = 10s;

  void write(Instant now, std::string_view event, const std::string& peer, std::string_view reason);

 private:
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
        slow_readers(parts.executor, responses, reserved_responses) {}

  // Tells people that a client uses what is not served, where its answer may not.
  void log_refusal(const Client& client, std::string_view reason) {
    refused_clients.write(executor.now(), "kafka client refused", client.peer(), reason);
  }

  Topics& topics;
  Groups& groups;
  ProducerIds& producer_ids;
  Executor& executor;
  WallClock& clock;
  const KafkaOptions options;
  KafkaMetrics metrics;
  // What answers keep in memory: all blocks that their slices are parts of. Above the two limits
  // together come kCrowdedUnsentBytesMax and kSmallAnswerBytes of each connection, and one answer
  // that overdraws each.
  ByteBudget responses;
  ByteBudget reserved_responses;
  SlowReaders slow_readers;
  ClientLog closed_clients;
  ClientLog refused_clients;
  Semaphore config_changes{1};  // A change of configs that depends on those before it.
  TaskScope writes;             // Writes whose outcome is not known yet.
};

// The memory of a request, out of the service's budget; who keeps parts of the request keeps it.
using RequestMemory = std::shared_ptr<ByteBudget::Lease>;

// The request that a handler serves, beside its body.
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
  ErrorCode error = ErrorCode::kNone;  // Else there is no partition.
  std::string reason;                  // For people, when it does not start.
};
FoundPartition find_partition(ServerContext& server, TopicPtr topic, std::int32_t index);
FoundPartition find_partition(ServerContext& server, const std::string& topic, std::int32_t index);

TopicId to_topic_id(const Uuid& id);
Uuid to_uuid(const TopicId& id);

// What is wrong with the leader epoch that a client knows; -1: it knows none.
ErrorCode check_leader_epoch(std::int32_t known);

// What a failed read or change of a partition is to a client.
ErrorCode partition_error(const Error& error);
// What a failed change of a topic is to a client.
ErrorCode topic_error(const Error& error);

}  // namespace moraine::kafka

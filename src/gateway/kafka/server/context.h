// ServerContext: what the handlers of all APIs share.
//
// Threading  The node's executor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gateway/kafka/groups/groups.h"
#include "gateway/kafka/producer_ids.h"
#include "gateway/kafka/protocol/messages.h"
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

  Topics& topics;
  Groups& groups;
  ProducerIds& producer_ids;
  Executor& executor;
  WallClock& clock;
  const KafkaOptions options;
  KafkaMetrics metrics;
  // What answers keep in memory: all blocks that their slices are parts of. Above the two limits
  // together come the answers that are not of Fetch, kCrowdedUnsentBytesMax and one answer of each
  // connection, and one Fetch that overdraws each.
  ByteBudget responses;
  ByteBudget reserved_responses;
  SlowReaders slow_readers;
  Semaphore config_changes{1};  // A change of configs that depends on those before it.
  TaskScope writes;             // Writes whose outcome is not known yet.
};

// The memory of a request, out of the service's budget; who keeps parts of the request keeps it.
using RequestMemory = std::shared_ptr<const ByteBudget::Lease>;

// The request that a handler serves, beside its body.
struct RequestContext {
  std::int16_t version = 0;
  std::string client_id;
  std::shared_ptr<Client> client;
  RequestMemory memory;
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

// What a failed read or change of a partition is to a client.
ErrorCode partition_error(const Error& error);
// What a failed change of a topic is to a client.
ErrorCode topic_error(const Error& error);

}  // namespace moraine::kafka

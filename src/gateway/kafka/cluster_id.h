// The cluster id of the Kafka protocol.
//
// Promise    Generated at random by the first start and never changed: clients identify a cluster
//            by it, and notice when an address belongs to another one.
// Threading  The control lane.
// Errors     kNotHere: the tablet is not running here; retry. kCorrupt.
// Tests      cluster_id_test.cpp, cluster_id_fuzz.cpp
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "gateway/kafka/protocol/types.h"
#include "io/random.h"
#include "io/task.h"
#include "keyvalue/key_value.h"

namespace moraine::kafka {

// `tablet` returns null while the tablet is not running.
Task<Result<Uuid>> load_cluster_id(std::function<std::shared_ptr<KeyValue>()> tablet,
                                   Random& random);

Uuid make_cluster_id(Random& random);

// 22 letters, digits, '-' and '_', as Kafka's own tools write it.
std::string cluster_id_text(const Uuid& id);

// The id as it is stored.
Slice encode_cluster_id(const Uuid& id);
Result<Uuid> decode_cluster_id(const Slice& bytes);

}  // namespace moraine::kafka

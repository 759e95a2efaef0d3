// The metadata that consumers of a group exchange in JoinGroup and SyncGroup, as far as a broker
// needs it: the topics of a member and its assigned partitions.
//
// Promise    Only the fields of version 0 are read; later ones are ignored, because clients write
//            them with and without the matching version number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace moraine::kafka {

struct Subscription {
  std::int16_t version = 0;
  std::vector<std::string> topics;
  std::optional<Slice> user_data;
};

struct Assignment {
  struct Topic {
    std::string name;
    std::vector<std::int32_t> partitions;
  };

  std::int16_t version = 0;
  std::vector<Topic> topics;
  std::optional<Slice> user_data;
};

// The metadata of a member with protocol type "consumer". kCorrupt: it is invalid.
Result<Subscription> decode_subscription(const Slice& metadata);
Result<Assignment> decode_assignment(const Slice& assignment);
Slice encode_subscription(const Subscription& subscription);
Slice encode_assignment(const Assignment& assignment);

}  // namespace moraine::kafka

// What consumers of a group tell each other in JoinGroup and SyncGroup, as far as an observer needs
// it: which topics a member wants and which partitions it was given.
//
// Promise    Only the fields of version 0 are read; what follows them is not looked at, because
//            clients write it with and without the version that announces it.
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

// The metadata of a member with protocol type "consumer". kCorrupt: it is not one.
Result<Subscription> decode_subscription(const Slice& metadata);
Result<Assignment> decode_assignment(const Slice& assignment);
Slice encode_subscription(const Subscription& subscription);
Slice encode_assignment(const Assignment& assignment);

}  // namespace moraine::kafka

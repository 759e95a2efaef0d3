// The keys of a partition in its key-value tablet.
//
// Promise    Byte order of data keys is the order of offsets.
//
//   data      d PARTITION _ OFFSET _ COUNT _ TIME        a body blob
//             d PARTITION _ OFFSET _ COUNT _ TIME |      a head blob
//   part      x PARTITION _ MESSAGE _ PART               of a message that is not complete
//   meta      i PARTITION
//   source    s PARTITION _ source id
//   consumer  c PARTITION _ name
//
// PARTITION, MESSAGE, PART and COUNT have 10 digits, OFFSET 20. TIME is the newest client
// timestamp in the blob, 20 digits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "queue/partition.h"

namespace moraine::queue {

struct DataKeyName {
  PartitionIndex partition = 0;
  Offset offset = 0;
  std::uint32_t count = 0;
  std::int64_t max_timestamp_ms = 0;  // Negative ones are written as 0.
  bool head = false;
  bool operator==(const DataKeyName&) const = default;
};

std::string data_key(const DataKeyName& name);
// nullopt: not the name of a data key.
std::optional<DataKeyName> parse_data_key(std::string_view key);

std::string part_key(PartitionIndex partition, std::uint32_t message, std::uint32_t part);
// The common prefix of the keys of one message's parts.
std::string part_key_prefix(PartitionIndex partition, std::uint32_t message);
std::string meta_key(PartitionIndex partition);
std::string source_key(PartitionIndex partition, std::string_view source_id);
std::string consumer_key(PartitionIndex partition, std::string_view consumer);

// The common prefix of the keys of one kind ('d', 'x', 's', 'c') and partition.
std::string key_prefix(char kind, PartitionIndex partition);

}  // namespace moraine::queue

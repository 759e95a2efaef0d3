// BlobGroups: how tablets reach the groups that hold their blobs.
#pragma once

#include <optional>

#include "blob/device/direct_reads.h"
#include "blob/proxy/proxy.h"

namespace moraine {

class BlobGroups {
 public:
  virtual ~BlobGroups() = default;
  // Null when there is no such group.
  virtual blob::Proxy* group(blob::GroupId id) = 0;
  // Where threads of this process may read the blob directly; nullopt: read it through the group.
  virtual std::optional<blob::DirectPlace> locate(blob::GroupId, const blob::BlobId&) {
    return std::nullopt;
  }
};

}  // namespace moraine

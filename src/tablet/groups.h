// BlobGroups: how tablets reach the groups that hold their blobs.
#pragma once

#include "blob/proxy/proxy.h"

namespace moraine {

class BlobGroups {
 public:
  virtual ~BlobGroups() = default;
  // Null when there is no such group.
  virtual blob::Proxy* group(blob::GroupId id) = 0;
};

}  // namespace moraine

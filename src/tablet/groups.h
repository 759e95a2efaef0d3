// BlobGroups: how tablets reach the groups that hold their blobs.
#pragma once

#include "blob/device/direct_reads.h"
#include "blob/proxy/proxy.h"

namespace moraine {

using blob::OnPlace;

class BlobGroups {
 public:
  virtual ~BlobGroups() = default;
  // Null when there is no such group.
  virtual blob::Proxy* group(blob::GroupId id) = 0;
  // Finds out where threads of this process may read the blob directly. `found` is called at once
  // or later, on any thread; never, when it can only be read through the group.
  virtual void locate(blob::GroupId, const blob::BlobId&, OnPlace /*found*/) {}
};

}  // namespace moraine

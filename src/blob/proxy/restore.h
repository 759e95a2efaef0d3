// Restoring a blob that was found unconfirmed, and parts that were found broken.
#pragma once

#include <string>

#include "base/bytes.h"
#include "blob/proxy/context.h"
#include "blob/proxy/data_plan.h"
#include "blob/proxy/scan_plan.h"

namespace moraine::blob {

struct Restored {
  Status status = Status::kError;  // kOk: confirmed from now on. kRace: start again.
  std::string reason;
  Slice blob;  // With kOk: all of it.
};
// Reads the blob and writes the parts that `scan` did not see, until it is confirmed. `scan`
// outlives the task.
Task<Restored> restore_blob(ProxyContext& context, ViewPtr view, const ScanPlan& scan,
                            Instant deadline);

// Rewrites the `broken` parts of `id` in the background; does nothing when kRepairsMax are running.
void repair_in_background(ProxyContext& context, ViewPtr view, const BlobId& id,
                          const PartLayout& broken);

// The order in which reads should use the disks now.
ReadPreference read_preference(ProxyContext& context, const GroupView& view);

}  // namespace moraine::blob

// Put, and the writing of parts that restores share with it.
#pragma once

#include <optional>
#include <vector>

#include "blob/proxy/context.h"
#include "blob/proxy/put_plan.h"
#include "blob/proxy/requests.h"

namespace moraine::blob {

// One attempt on `view`; nullopt: a newer config is known, start again.
Task<std::optional<PutResult>> put_once(ProxyContext& context, ViewPtr view,
                                        const PutRequest& request);

struct PartWrites {
  BlobId id;
  std::vector<Slice> parts;  // All of them, in part order.
  bool ignore_block = false;
  std::vector<TabletGeneration> extra_blocks;
};
// Carries out `plan` to its decision, to `deadline`, or to a disk that says BLOCKED or DEADLINE.
// Part writes still in flight then run on in the background. `writes` outlives the task.
Task<std::optional<PutResult>> write_parts(ProxyContext& context, ViewPtr view,
                                           const PartWrites& writes, PutPlan plan,
                                           Instant deadline);

// The slots of `id` whose disks are in `disks`.
DiskSet slots_of(const Geometry::Subgroup& subgroup, DiskSet disks);

}  // namespace moraine::blob

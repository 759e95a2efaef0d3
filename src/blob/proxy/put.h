// Put, and the writing of parts, which restores use too.
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
// Carries out `plan` until it is decided, until `deadline`, or until a disk returns BLOCKED or
// DEADLINE. Part writes still in flight continue in the background. `writes` outlives the task.
Task<std::optional<PutResult>> write_parts(ProxyContext& context, ViewPtr view,
                                           const PartWrites& writes, PutPlan plan,
                                           Instant deadline);

// The slots of `id` whose disks are in `disks`.
DiskSet slots_of(const Geometry::Subgroup& subgroup, DiskSet disks);

}  // namespace moraine::blob

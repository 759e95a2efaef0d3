// LocalEndpoint: a VDisk of this node, for callers on one executor.
//
// Promise    As DiskServices::call(): requests are not encoded, and every call returns a reply.
// Threading  Used on `home`; replies are delivered there.
#pragma once

#include "blob/endpoint/disk_services.h"

namespace moraine::blob {

class LocalEndpoint final : public DiskEndpoint {
 public:
  // `services` and `home` outlive every call.
  LocalEndpoint(DiskServices& services, const DiskAddress& address, Executor& home)
      : services_(services), address_(address), home_(home) {}

  Task<DiskReply> call(DiskRequest request, Instant deadline) override;

 private:
  DiskServices& services_;
  const DiskAddress address_;
  Executor& home_;
};

}  // namespace moraine::blob

// DiskServices: the VDisks that run on one node, by address.
//
// Promise    A call runs on the service's executor and returns on the caller's, with the service's
//            reply, or with kDeadline when that passes first; an abandoned call runs to its end. An
//            address where nothing runs (never added, removed, destroyed) returns kError.
// Invariants A call in flight keeps its service alive, and releases it on the service's executor.
// Threading  Any thread.
// Limits     kServiceCallsMax calls in flight per service; past it, kError.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "blob/endpoint/disk_service.h"
#include "blob/group/config.h"

namespace moraine::blob {

inline constexpr std::size_t kServiceCallsMax = 8'192;

class DiskServices {
 public:
  DiskServices() = default;
  DiskServices(const DiskServices&) = delete;
  DiskServices& operator=(const DiskServices&) = delete;

  // Does not own the service. Requires: no living service at `address`.
  void add(const DiskAddress& address, const std::shared_ptr<DiskService>& service);
  // Calls from now on get kError; those in flight continue.
  void remove(const DiskAddress& address);

  // Requires: awaited on `home`, which outlives the call even when it is abandoned.
  Task<DiskReply> call(DiskAddress address, DiskRequest request, Executor& home, Instant deadline);

 private:
  struct Entry {
    std::weak_ptr<DiskService> service;
    std::atomic<std::size_t> calls{0};
  };
  struct Outcome;

  static Task<void> serve(std::shared_ptr<DiskService> service, std::shared_ptr<Entry> entry,
                          DiskRequest request, Executor& home, std::shared_ptr<Outcome> outcome);

  std::mutex mutex_;
  std::map<DiskAddress, std::shared_ptr<Entry>> entries_;  // Guarded by mutex_.
};

}  // namespace moraine::blob

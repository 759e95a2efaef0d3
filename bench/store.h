// Store: blob storage on files of the work folder, in this process, and loads on it.
//
// Threading  One thread. Between two calls nothing of it runs, so that others are measured alone.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/measure.h"
#include "blob/node/blob_node.h"
#include "io/real/real_world.h"

namespace moraine::bench {

struct StoreOptions {
  blob::Species species = blob::Species::kNone;
  std::string folder;               // Of the device files; they are created when they are missing.
  std::uint64_t device_bytes = 0;   // Of each.
  std::uint64_t segment_bytes = 0;  // 0: the default.
  bool prefill = false;             // Write every block of new devices once.
  std::uint64_t cache_bytes = 0;    // Of each VDisk.
};

class Store {
 public:
  static Result<std::unique_ptr<Store>> open(const StoreOptions& options);
  ~Store();

  struct Load {
    std::uint32_t size = 0;  // Of a blob.
    std::uint32_t depth = 0;
    std::uint64_t count = 0;
  };
  // Durable puts of new blobs.
  Result<Round> put(const Load& load);
  // Whole blobs, chosen at random among the `newest` last ones.
  Result<Round> get(const Load& load, std::uint64_t newest);

  // Stops one member of the group permanently: it no longer answers.
  void stop_disk(std::uint32_t order);
  blob::Device& device(std::uint32_t order);
  // An upper bound for the end of a device's log: all data lies before it.
  std::uint64_t used_bytes(std::uint32_t order);
  std::uint64_t blobs() const { return put_; }

  static std::string device_path(const StoreOptions& options, std::uint32_t order);

 private:
  class Run;

  explicit Store(const StoreOptions& options);
  Task<Result<void>> start();
  blob::BlobId id(std::uint64_t number, std::uint32_t size) const;

  StoreOptions options_;
  RealWorld world_;
  blob::BlobNode node_;
  blob::Proxy* proxy_ = nullptr;
  std::uint64_t put_ = 0;
  std::uint64_t seed_ = 1;
  bool started_ = false;
};

}  // namespace moraine::bench

// Rocks: RocksDB as the peer of durable puts; default options, one write-ahead log, sync = true.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "bench/measure.h"

namespace rocksdb {
class DB;
}

namespace moraine::bench {

class Rocks {
 public:
  static Result<std::unique_ptr<Rocks>> open(const std::string& folder);
  ~Rocks();

  // Each of `threads` threads puts its share of `count` values under new keys of 24 bytes.
  Result<Round> put(std::uint32_t size, std::uint32_t threads, std::uint64_t count);

 private:
  explicit Rocks(std::unique_ptr<rocksdb::DB> db);

  std::unique_ptr<rocksdb::DB> db_;
  std::uint64_t put_ = 0;
};

}  // namespace moraine::bench

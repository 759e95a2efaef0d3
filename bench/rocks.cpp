#include "bench/rocks.h"

#include <fmt/format.h>
#include <rocksdb/db.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "bench/raw_disk.h"

namespace moraine::bench {

Rocks::Rocks(std::unique_ptr<rocksdb::DB> db) : db_(std::move(db)) {}

Rocks::~Rocks() = default;

Result<std::unique_ptr<Rocks>> Rocks::open(const std::string& folder) {
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options, folder, &db);
  if (!status.ok()) return fail(Errc::kIo, "RocksDB: " + status.ToString());
  return std::unique_ptr<Rocks>(new Rocks(std::unique_ptr<rocksdb::DB>(db)));
}

Result<Round> Rocks::put(std::uint32_t size, std::uint32_t threads, std::uint64_t count) {
  const Slice value = random_bytes(size, 7);
  const std::uint64_t end = put_ + count;
  std::atomic<std::uint64_t> next{put_};
  std::mutex mutex;
  std::string problem;  // Guarded by mutex, as is round.
  Round round;
  const double cpu_before = cpu_seconds();
  const Stopwatch watch;
  std::vector<std::thread> workers;
  for (std::uint32_t i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      rocksdb::WriteOptions options;
      options.sync = true;
      std::vector<std::uint64_t> latencies;
      std::string failed;
      for (std::uint64_t number = next++; number < end && failed.empty(); number = next++) {
        const std::string key = fmt::format("{:024}", number);
        const std::uint64_t started = watch.nanoseconds();
        const auto status =
            db_->Put(options, key, {reinterpret_cast<const char*>(value.data()), value.size()});
        latencies.push_back(watch.nanoseconds() - started);
        if (!status.ok()) failed = status.ToString();
      }
      const std::lock_guard lock(mutex);
      round.latencies.insert(round.latencies.end(), latencies.begin(), latencies.end());
      if (!failed.empty()) problem = failed;
    });
  }
  for (std::thread& worker : workers) worker.join();
  round.seconds = watch.seconds();
  put_ = end;
  if (!problem.empty()) return fail(Errc::kIo, "RocksDB: " + problem);
  round.operations = count;
  round.bytes = count * size;
  round.cpu_seconds = cpu_seconds() - cpu_before;
  return round;
}

}  // namespace moraine::bench

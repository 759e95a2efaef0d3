#include "bench/tables/rocks_table.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <bit>
#include <filesystem>
#include <thread>

#include "bench/measure.h"
#include "bench/tables/contest.h"
#include "bench/tables/our_table.h"

namespace moraine::bench {
namespace {

constexpr int kBloomBits = 10;
constexpr auto kSettlePoll = std::chrono::milliseconds(10);
constexpr int kQuietPolls = 5;  // In a row, since one compaction may cause the next.

}  // namespace

Result<void> check(const rocksdb::Status& status) {
  if (!status.ok()) return fail(Errc::kIo, "RocksDB: " + status.ToString());
  return {};
}

rocksdb::Slice rocks_slice(std::string_view text) {
  return {text.data(), text.size()};
}

Result<std::unique_ptr<RocksTable>> RocksTable::open(const RocksOptions& options) {
  std::unique_ptr<RocksTable> made(new RocksTable(options));
  TRY_VOID(made->start());
  return made;
}

RocksTable::RocksTable(const RocksOptions& options) : options_(options) {}
RocksTable::~RocksTable() = default;

void RocksTable::close() {
  db_.reset();
}

Result<void> RocksTable::start() {
  rocksdb::BlockBasedTableOptions blocks;
  blocks.block_cache = rocksdb::NewLRUCache(options_.cache_bytes);
  blocks.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kBloomBits));
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kLZ4Compression;
  options.use_direct_reads = true;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(blocks));
  if (options_.statistics) statistics_ = options.statistics = rocksdb::CreateDBStatistics();
  rocksdb::DB* db = nullptr;
  TRY_VOID(check(rocksdb::DB::Open(options, options_.folder, &db)));
  db_.reset(db);
  return {};
}

Result<double> RocksTable::reopen() {
  close();
  const Stopwatch watch;
  TRY_VOID(start());
  return watch.seconds();
}

Result<void> RocksTable::load_batch(RowRange range, std::uint64_t version) {
  rocksdb::WriteBatch batch;
  WideRowMaker wide;
  std::string encoded;
  for (std::uint64_t i = range.first; i < range.first + range.count; ++i) {
    if (options_.wide) {
      encode_wide(wide.make(i), encoded);
      const std::uint64_t id = std::byteswap(i);
      TRY_VOID(check(batch.Put({reinterpret_cast<const char*>(&id), sizeof id}, encoded)));
      continue;
    }
    const KeyText key = KeyText::scattered(i);
    const ValueText value(i, version);
    TRY_VOID(check(batch.Put(rocks_slice(key.view()), rocks_slice(value.view()))));
  }
  return check(db_->Write({}, &batch));
}

Result<void> RocksTable::load(RowRange range, std::uint64_t version) {
  std::atomic<std::uint64_t> next{range.first};
  const std::uint64_t end = range.first + range.count;
  return on_threads(kLoaders, [&](std::uint32_t) -> Result<void> {
    for (;;) {
      const std::uint64_t first = next.fetch_add(kRowsPerBatch);
      if (first >= end) return {};
      TRY_VOID(load_batch({first, std::min(kRowsPerBatch, end - first)}, version));
    }
  });
}

Result<bool> RocksTable::busy() const {
  using Properties = rocksdb::DB::Properties;
  for (const std::string& name :
       {Properties::kMemTableFlushPending, Properties::kNumRunningFlushes,
        Properties::kCompactionPending, Properties::kNumRunningCompactions}) {
    std::uint64_t value = 0;
    if (!db_->GetIntProperty(name, &value)) return fail(Errc::kIo, "RocksDB has no " + name);
    if (value != 0) return true;
  }
  return false;
}

Result<void> RocksTable::settle() {
  TRY_VOID(check(db_->Flush({})));
  for (int quiet = 0; quiet < kQuietPolls;) {
    TRY(const bool working, busy());
    quiet = working ? 0 : quiet + 1;
    std::this_thread::sleep_for(kSettlePoll);
  }
  return {};
}

Result<void> RocksTable::commit_row(const KeyText& key, const ValueText& value) {
  rocksdb::WriteOptions options;
  options.sync = true;
  return check(db_->Put(options, rocks_slice(key.view()), rocks_slice(value.view())));
}

std::uint64_t RocksTable::bytes_on_device() const {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(options_.folder)) {
    std::error_code gone;  // Files appear and disappear.
    const std::uint64_t size = entry.file_size(gone);
    if (!gone) bytes += size;
  }
  return bytes;
}

std::uint64_t RocksTable::bytes_written() const {
  return statistics_->getTickerCount(rocksdb::WAL_FILE_BYTES) +
         statistics_->getTickerCount(rocksdb::FLUSH_WRITE_BYTES) +
         statistics_->getTickerCount(rocksdb::COMPACT_WRITE_BYTES);
}

struct RocksReader::State {
  rocksdb::DB& db;
  rocksdb::ReadOptions options{};
  rocksdb::PinnableSlice value{};
  std::vector<rocksdb::Slice> keys{};
  std::vector<rocksdb::PinnableSlice> values{};
  std::vector<rocksdb::Status> statuses{};
};

RocksReader::RocksReader(rocksdb::DB& db) : state_(std::make_unique<State>(db)) {}
RocksReader::RocksReader(RocksReader&&) noexcept = default;
RocksReader::~RocksReader() = default;

Result<bool> RocksReader::get(const KeyText& key) {
  State& state = *state_;
  state.value.Reset();
  const rocksdb::Status status = state.db.Get(state.options, state.db.DefaultColumnFamily(),
                                              rocks_slice(key.view()), &state.value);
  if (status.IsNotFound()) return false;
  TRY_VOID(check(status));
  return state.value.size() == kValueBytes;
}

Result<std::size_t> RocksReader::get_many(std::span<const KeyText> keys) {
  State& state = *state_;
  state.keys.clear();
  for (const KeyText& key : keys) state.keys.push_back(rocks_slice(key.view()));
  state.values.resize(keys.size());
  state.statuses.resize(keys.size());
  for (rocksdb::PinnableSlice& value : state.values) value.Reset();
  state.db.MultiGet(state.options, state.db.DefaultColumnFamily(), keys.size(), state.keys.data(),
                    state.values.data(), state.statuses.data());
  std::size_t found = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (state.statuses[i].ok() && state.values[i].size() == kValueBytes) ++found;
  }
  return found;
}

}  // namespace moraine::bench

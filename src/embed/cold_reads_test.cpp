// Reads that miss the caches, on their own threads, while rows change and chunks move.

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "embed/test_database.h"

namespace moraine {
namespace {

constexpr std::int64_t kRows = 4'000;
constexpr int kReaders = 3;
constexpr int kRounds = 12;

class ColdReadsTest : public DatabaseTest {
 protected:
  ColdReadsTest() {
    db_.reset();
    reopen_small();
    TableOptions options;
    options.mount.min_data_ttl = std::chrono::milliseconds(0);
    options.mount.max_data_ttl = std::chrono::milliseconds(0);
    expect_ok(db_->run(db_->create_table("/users", users_schema(), options)));
    put_all(0);
  }
  // Caches that hold a few blocks only.
  void reopen_small() {
    OpenOptions options;
    options.device_bytes = std::uint64_t{512} << 20;
    options.block_cache_bytes = 128 << 10;
    auto opened = Database::open(folder_ + "/data", options);
    ASSERT_TRUE(opened) << opened.error().message();
    db_.emplace(std::move(*opened));
  }
  // Hardly compressible, and names its row.
  static std::string value_of(std::int64_t id, int version) {
    std::string value = fmt::format("{}/{}:", id, version);
    std::uint64_t noise =
        static_cast<std::uint64_t>(id) * 1'000 + static_cast<std::uint64_t>(version);
    while (value.size() < 300) {
      noise = noise * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
      value += fmt::format("{:x}", noise);
    }
    return value;
  }
  void put_all(int version) {
    auto tx = db_->begin();
    const Table table = users();
    for (std::int64_t id = 0; id < kRows; ++id) {
      const std::string value = value_of(id, version);
      expect_ok(tx->insert(table, {{"id", id}, {"name", std::string_view(value)}}));
    }
    ASSERT_TRUE(tx->commit());
    expect_ok(db_->run(db_->flush_table("/users")));
  }
  // The version of the row; -1: the value was never written.
  static int version_in(std::int64_t id, const std::string& value) {
    const std::size_t slash = value.find('/');
    const std::size_t colon = value.find(':');
    if (slash == std::string::npos || colon == std::string::npos) return -1;
    const int version = std::atoi(value.substr(slash + 1, colon - slash - 1).c_str());
    return value == value_of(id, version) ? version : -1;
  }
};

TEST_F(ColdReadsTest, EveryRowIsFoundOnTheDisk) {
  const Table table = users();
  for (std::int64_t id = 0; id < kRows; id += 7) {
    EXPECT_EQ(name_of(table, id), value_of(id, 0)) << id;
  }
}

TEST_F(ColdReadsTest, RowsAreRightWhileChunksAreFlushedAndCompactedAndTheirPlacesReused) {
  std::atomic<int> written = 0;  // Readers must see at least this version.
  std::atomic<bool> over = false;
  std::atomic<std::uint64_t> wrong = 0;
  std::atomic<std::uint64_t> stale = 0;
  std::atomic<std::uint64_t> reads = 0;
  const Table table = users();
  std::vector<std::thread> readers;
  for (int i = 0; i < kReaders; ++i) {
    readers.emplace_back([&, i] {
      std::int64_t id = i;
      while (!over) {
        id = (id * 1'103 + 12'345) % kRows;
        const int before = written;
        const int version = version_in(id, name_of(table, id));
        if (version < 0) ++wrong;
        if (version >= 0 && version < before) ++stale;
        ++reads;
      }
    });
  }
  for (int version = 1; version <= kRounds; ++version) {
    put_all(version);
    written = version;
    if (version % 3 == 0) expect_ok(db_->run(db_->compact_table("/users")));
  }
  over = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(stale, 0u);
  EXPECT_GT(reads, 0u);
}

}  // namespace
}  // namespace moraine

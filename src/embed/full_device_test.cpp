// A device that fills up: rows are refused before it is full, and operations that free space still
// work.

#include <thread>

#include "base/result.h"
#include "embed/test_database.h"
#include "io/random.h"

namespace moraine {
namespace {

constexpr std::size_t kValueBytes = 16 << 10;
constexpr std::int64_t kRowsPerCommit = 50;

class FullDevice : public DatabaseTest {
 protected:
  FullDevice() {
    TableOptions options;
    options.mount.min_data_ttl = options.mount.max_data_ttl = std::chrono::milliseconds(0);
    options.mount.max_dynamic_store_bytes = std::uint64_t{16} << 20;
    TableSchema schema;
    schema.columns = {column("id", ColumnType::kInt64, true), column("text", ColumnType::kString)};
    const auto made = db_->run(db_->create_table("/t", schema, options));
    EXPECT_TRUE(made) << made.error().message();
  }
  Result<void> write(std::int64_t first) {
    TRY(const Table table, db_->table("/t"));
    TRY(Transaction transaction, db_->begin());
    std::string text(kValueBytes, '\0');
    for (std::int64_t id = first; id < first + kRowsPerCommit; ++id) {
      for (char& c : text) c = static_cast<char>(random_.next());
      TRY_VOID(transaction.insert(table, {{"id", id}, {"text", std::string_view(text)}}));
    }
    TRY(const Timestamp committed, transaction.commit());
    (void)committed;
    return {};
  }
  Result<void> erase(std::int64_t first) {
    TRY(const Table table, db_->table("/t"));
    TRY(Transaction transaction, db_->begin());
    for (std::int64_t id = first; id < first + kRowsPerCommit; ++id) {
      TRY_VOID(transaction.remove(table, {Value(id)}));
    }
    TRY(const Timestamp committed, transaction.commit());
    (void)committed;
    return {};
  }
  // Writes until a write is refused; returns the number of rows written.
  std::int64_t fill(Error& why) {
    for (std::int64_t first = 0;; first += kRowsPerCommit) {
      Result<void> done = write(first);
      while (!done && done.error().code == Errc::kOverloaded) {
        expect_ok(db_->run(db_->settle_table("/t")));
        done = write(first);
      }
      if (done) continue;
      why = done.error();
      return first;
    }
  }
  std::int64_t count() {
    const auto table = db_->table("/t");
    EXPECT_TRUE(table);
    auto scan = table->scan();
    EXPECT_TRUE(scan);
    ScanBatch batch;
    std::int64_t rows = 0;
    for (;;) {
      const auto more = scan->next(batch);
      EXPECT_TRUE(more) << more.error().message();
      if (!more || !*more) return rows;
      rows += static_cast<std::int64_t>(batch.rows);
    }
  }

  SeededRandom random_{5};
};

TEST_F(FullDevice, RefusesRowsReturnsAllOfThemAndTakesOthersOnceRowsWereDeleted) {
  Error why;
  const std::int64_t rows = fill(why);
  EXPECT_EQ(why.code, Errc::kNoSpace) << why.message();
  EXPECT_NE(why.message().find("nearly full"), std::string::npos) << why.message();
  EXPECT_GT(rows, 1'000);
  EXPECT_EQ(count(), rows);
  db_.reset();
  open();
  EXPECT_EQ(count(), rows);
  for (std::int64_t first = 0; first < rows; first += kRowsPerCommit) {
    const auto done = erase(first);
    ASSERT_TRUE(done) << done.error().message();
  }
  ASSERT_TRUE(db_->run(db_->flush_table("/t")));
  expect_ok(db_->run(db_->settle_table("/t")));
  EXPECT_EQ(count(), 0);
  const auto again = write(0);
  EXPECT_TRUE(again) << again.error().message();
  EXPECT_EQ(count(), kRowsPerCommit);
}

TEST_F(FullDevice, TablesCanBeRemovedAndOthersTakeTheirPlace) {
  Error why;
  fill(why);
  EXPECT_EQ(why.code, Errc::kNoSpace) << why.message();
  const auto removed = db_->run(db_->remove_table("/t"));
  ASSERT_TRUE(removed) << removed.error().message();
  const auto made = db_->run(db_->create_table("/other", users_schema()));
  EXPECT_TRUE(made) << made.error().message();
}

// Memory may hold more than the free space of a small device: then it cannot be flushed.
TEST_F(FullDevice, ADeviceWithoutRoomForAFlushOpensIsReadAndItsTablesCanBeRemoved) {
  const auto open_small = [this] {
    db_.reset();
    auto opened = Database::open(folder_ + "/small", {.device_bytes = std::uint64_t{256} << 20});
    ASSERT_TRUE(opened) << opened.error().message();
    db_.emplace(std::move(*opened));
  };
  open_small();
  TableSchema schema;
  schema.columns = {column("id", ColumnType::kInt64, true), column("text", ColumnType::kString)};
  expect_ok(db_->run(db_->create_table("/t", schema)));
  Error why;
  const std::int64_t rows = fill(why);
  EXPECT_EQ(why.code, Errc::kNoSpace) << why.message();
  (void)db_->run(db_->flush_table("/t"));
  for (int i = 0; i < 3; ++i) {
    open_small();
    ASSERT_TRUE(db_);
    EXPECT_EQ(count(), rows);
  }
  const auto removed = db_->run(db_->remove_table("/t"));
  ASSERT_TRUE(removed) << removed.error().message();
  expect_ok(db_->run(db_->create_table("/t", schema)));
  // The space of the removed table becomes free a little later.
  Result<void> written = write(0);
  for (int i = 0; i < 1'000 && !written && written.error().code == Errc::kNoSpace; ++i) {
    expect_ok(db_->run(db_->settle_table("/t")));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    written = write(0);
  }
  EXPECT_TRUE(written) << written.error().message();
}

TEST_F(FullDevice, ADeviceThatIsTooSmallForTablesIsRefused) {
  const auto small = Database::open(folder_ + "/small", {.device_bytes = std::uint64_t{64} << 20});
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().code, Errc::kInvalidArgument);
}

}  // namespace
}  // namespace moraine

// Bytes that rot on the device: errors name what is damaged, the rest stays readable.

#include <gtest/gtest.h>

#include <fstream>

#include "embed/test_topics.h"

namespace moraine {
namespace {

class DamageTest : public TopicsTest {
 protected:
  static constexpr std::size_t kWindowBytes = std::size_t{8} << 20;
  // Changes one byte in each occurrence of the text on the device. Returns the number of
  // occurrences.
  std::size_t rot(const std::string& text) {
    std::size_t found = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
      if (!entry.path().filename().string().starts_with("device")) continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      std::string window(kWindowBytes, '\0');
      for (std::size_t begin = 0; begin < entry.file_size(); begin += kWindowBytes - text.size()) {
        file.clear();
        file.seekg(static_cast<std::streamoff>(begin));
        file.read(window.data(), static_cast<std::streamsize>(window.size()));
        const std::string_view bytes(window.data(), static_cast<std::size_t>(file.gcount()));
        file.clear();
        for (std::size_t at = bytes.find(text); at != std::string_view::npos;
             at = bytes.find(text, at + 1)) {
          file.seekp(static_cast<std::streamoff>(begin + at));
          file.put('#');
          ++found;
        }
      }
    }
    return found;
  }
  void put(std::int64_t first, std::int64_t last, const std::string& text) {
    auto tx = db_->begin();
    const Table table = users();
    for (std::int64_t id = first; id < last; ++id) {
      expect_ok(tx->insert(table, {{"id", id}, {"name", std::string_view(text)}}));
    }
    ASSERT_TRUE(tx->commit());
    expect_ok(db_->run(db_->flush_table("/users")));
  }
};

TEST_F(DamageTest, ARottenBlockOfAChunkIsNamedAndTheRestIsRead) {
  TableOptions options;
  options.compression_codec = "none";
  options.mount.enable_compaction_and_partitioning = false;
  expect_ok(db_->run(db_->create_table("/users", users_schema(), options)));
  put(0, 100, "rotten text of the first rows");
  put(100, 200, "sound text of the other rows");
  // After this the log has no rows.
  expect_ok(db_->run(db_->freeze_table("/users")));
  db_.reset();
  EXPECT_GT(rot("rotten text of the first rows"), 0u);
  open();
  EXPECT_EQ(name_of(users(), 150), "sound text of the other rows");
  EXPECT_EQ(name_of(users(), 1'000), "-");
  const std::string error = name_of(users(), 50);
  EXPECT_TRUE(error.starts_with("corrupt: ")) << error;
  EXPECT_NE(error.find("chunk 1"), std::string::npos) << error;
  EXPECT_NE(error.find("block 0"), std::string::npos) << error;
  EXPECT_NE(error.find("blob ["), std::string::npos) << error;
  ScanOptions sound;
  sound.from = {Value(100)};
  auto scan = users().scan(sound);
  ASSERT_TRUE(scan);
  ScanBatch batch;
  std::size_t rows = 0;
  while (scan->next(batch).value()) rows += batch.rows;
  EXPECT_EQ(rows, 100u);
}

TEST_F(DamageTest, ARottenMessageIsNamedAtOnceAndTheOthersAreRead) {
  const auto text = [](char letter) { return std::string(20'000, letter); };
  {
    const Topic orders = create("orders");
    for (const char letter : {'a', 'b', 'c'}) write(orders, text(letter));
  }
  db_.reset();
  EXPECT_GT(rot(text('b')), 0u);
  open();
  const Topic orders = topic("orders");
  EXPECT_EQ(values(read(orders, {})), text('a'));
  expect_error(db_->run(orders.read({.offset = 1, .wait = std::chrono::hours(1)})), Errc::kCorrupt,
               "topic orders, partition 0: offset 1 cannot be read: its blob is damaged; reading "
               "can continue at 2");
  EXPECT_EQ(values(read(orders, {.offset = 2})), text('c'));
}

}  // namespace
}  // namespace moraine

// Columns with the aggregate "xdelta", through the public API.

#include "embed/test_database.h"
#include "table/model/test_patches.h"

namespace moraine {
namespace {

using table::base_state;
using table::patch_state;

constexpr std::string_view kFirst = "The quick brown fox jumps over the lazy dog.";
constexpr std::string_view kSecond = "The quick brown fox leaps over the lazy dog.";
constexpr std::string_view kThird = "The slow brown fox leaps over the lazy dog.";
constexpr std::string_view kFourth = "The slow brown fox leaps over the lazy dog, twice.";
constexpr std::int64_t kKey = 1;

class XdeltaColumn : public DatabaseTest {
 protected:
  // No handle may outlive a step: the folder is reopened.
  void make() {
    TableSchema schema;
    schema.columns = {column("k", ColumnType::kInt64, true), column("v", ColumnType::kString)};
    schema.columns[1].aggregate = Aggregate::kXdelta;
    TableOptions options;
    options.mount.min_data_ttl = options.mount.max_data_ttl = std::chrono::milliseconds(0);
    expect_ok(db_->run(db_->create_table("/t", schema, options)));
  }
  Table reach() {
    auto table = db_->table("/t");
    EXPECT_TRUE(table) << table.error().message();
    return std::move(*table);
  }
  void write(std::string_view state) { insert(reach(), {{"k", kKey}, {"v", state}}); }
  void patch(std::string_view from, std::string_view to) {
    const std::string state = patch_state(from, to);
    insert(reach(), {{"k", kKey}, {"v", std::string_view(state)}},
           {.update = true, .aggregate = true});
  }
  std::string read() { return name_of(reach(), kKey); }
  // Unflushed, flushed, compacted, and reopened.
  void expect_everywhere(const std::string& state) {
    EXPECT_EQ(read(), state);
    expect_ok(db_->run(db_->flush_table("/t")));
    EXPECT_EQ(read(), state);
    expect_ok(db_->run(db_->compact_table("/t")));
    EXPECT_EQ(read(), state);
    reopen();
    EXPECT_EQ(read(), state);
  }
};

TEST_F(XdeltaColumn, PatchesAreAppliedToTheBaseThatWasWritten) {
  make();
  write(base_state(kFirst));
  patch(kFirst, kSecond);
  patch(kSecond, kThird);
  expect_everywhere(base_state(kThird));
  patch(kThird, kFourth);
  expect_everywhere(base_state(kFourth));
}

TEST_F(XdeltaColumn, APatchThatMakesATransactionTooLargeIsRefusedAtOnce) {
  make();
  const std::size_t size = std::size_t{12} << 20;
  table::PatchWriter writer;
  writer.run('x', size);
  writer.finish_window(0, 0, 0);
  const std::string large(size, 'x');
  table::XdeltaState state;
  state.type = table::XdeltaType::kPatch;
  state.base_hash = table::xdelta_hash("");
  state.state_hash = table::xdelta_hash(large);
  state.state_size = size;
  state.data = writer.patch();
  const std::string patch = table::write_xdelta(state);
  const std::string base = base_state("");
  const Table table = reach();
  auto tx = db_->begin();
  expect_ok(tx->insert(table, {{"k", kKey}, {"v", std::string_view(base)}}));
  const std::string filler = base_state(std::string(std::size_t{14} << 20, 'y'));
  for (std::int64_t key = kKey + 1; key <= kKey + 4; ++key) {
    expect_ok(tx->insert(table, {{"k", key}, {"v", std::string_view(filler)}}));
  }
  const auto grown = tx->insert(table, {{"k", kKey}, {"v", std::string_view(patch)}},
                                {.update = true, .aggregate = true});
  EXPECT_FALSE(grown);
  const auto committed = tx->commit();
  EXPECT_TRUE(committed) << committed.error().message();
  EXPECT_EQ(read(), base);
}

TEST_F(XdeltaColumn, PatchesThatWereFlushedApartFromTheirBaseAreApplied) {
  make();
  write(base_state(kFirst));
  expect_ok(db_->run(db_->flush_table("/t")));
  patch(kFirst, kSecond);
  patch(kSecond, kThird);
  expect_ok(db_->run(db_->flush_table("/t")));
  EXPECT_EQ(read(), base_state(kThird));
  patch(kThird, kFourth);
  expect_everywhere(base_state(kFourth));
}

TEST_F(XdeltaColumn, PatchesOfOneTransactionAreOne) {
  make();
  write(base_state(kFirst));
  const std::string states[] = {patch_state(kFirst, kSecond), patch_state(kSecond, kThird),
                                patch_state(kThird, kFourth)};
  {
    const Table table = reach();
    auto tx = db_->begin();
    for (const std::string& state : states) {
      expect_ok(tx->insert(table, {{"k", kKey}, {"v", std::string_view(state)}},
                           {.update = true, .aggregate = true}));
    }
    EXPECT_TRUE(tx->commit());
  }
  expect_everywhere(base_state(kFourth));
}

TEST_F(XdeltaColumn, PatchesWithoutABaseStayAPatchUntilTheyMeetIt) {
  make();
  patch(kFirst, kSecond);
  patch(kSecond, kThird);
  const std::string both = read();
  EXPECT_EQ(table::read_xdelta(both).type, table::XdeltaType::kPatch);
  EXPECT_EQ(table::read_xdelta(both).state_hash, table::xdelta_hash(kThird));
  expect_everywhere(both);
  table::TextMemory memory;
  EXPECT_EQ(table::merge_xdelta(base_state(kFirst), both, memory), base_state(kThird));
}

TEST_F(XdeltaColumn, APatchForAnotherBaseLeavesAnErrorUntilABaseComes) {
  make();
  write(base_state(kFirst));
  patch(kThird, kFourth);
  const std::string error = table::write_xdelta({.error = table::XdeltaError::kBaseHash});
  expect_everywhere(error);
  write(base_state(kSecond));
  patch(kSecond, kThird);
  expect_everywhere(base_state(kThird));
}

}  // namespace
}  // namespace moraine

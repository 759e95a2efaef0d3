#include "transaction/tablet_messages.h"

#include <gtest/gtest.h>

#include "base/coding.h"
#include "base/sealed.h"

namespace moraine {
namespace {

constexpr std::size_t kStatusAt = 3;  // After protocol, version and kind.

TransactionId transaction(std::uint8_t number) {
  TransactionId id;
  id.bytes.fill(number);
  return id;
}

TabletWrite write() {
  table::RowChange put;
  put.key = "a";
  put.image = "image";
  put.locks.add(0, table::LockMode::kExclusive);
  table::RowChange lock;
  lock.key = "b";
  lock.kind = table::ChangeKind::kLock;
  lock.locks.add(3, table::LockMode::kSharedStrong);
  table::RowChange erase;
  erase.key = "c";
  erase.kind = table::ChangeKind::kDelete;
  erase.locks.add(0, table::LockMode::kExclusive);
  return {transaction(7), 900, {put, lock, erase}, 950};
}

std::vector<TabletCall> all_calls() {
  return {CommitCall{write()},
          PrepareCall{TabletId{9}, write()},
          CommitPreparedCall{transaction(1), 77},
          AbortPreparedCall{transaction(2)},
          DecideCall{{{TabletId{5}, write()}, {TabletId{6}, write()}}},
          OutcomeCall{transaction(3)},
          NextTimestampCall{},
          LookupCall{5, {500, 400, true}, {0, 2}, std::nullopt, {"k1", "k2"}},
          ScanCall{6,
                   {kAsyncLastCommitted, kNullTimestamp, false},
                   {1},
                   {"from", "to"},
                   100,
                   {{1, Filter::Op::kLess, Value("text")},
                    {2, Filter::Op::kEqual, Value(std::int64_t{-5})},
                    {3, Filter::Op::kNotEqual, Value(true)},
                    {4, Filter::Op::kIsNull, Value()}},
                   {{1, table::ValueSet::of(std::vector<Value>{Value(), Value("a"), Value("b")})},
                    {2, table::ValueSet::matching(Filter::Op::kGreater, Value(std::int64_t{7}))},
                    {3, table::ValueSet()}},
                   Slice()},
          VersionsCall{7, 800, "key"}};
}

TEST(TabletMessages, AreReadAsTheyWereWritten) {
  std::size_t kind = 0;
  for (const TabletCall& call : all_calls()) {
    EXPECT_EQ(call.index(), kind++);
    const Slice bytes = encode(TabletRequest{TabletId{42}, 1'000, call});
    const auto read = decode_tablet_request(bytes);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->tablet.value, 42u);
    EXPECT_EQ(read->timeout_us, 1'000u);
    EXPECT_EQ(read->call.index(), call.index());
    EXPECT_TRUE(equal(encode(*read), bytes));
  }
  EXPECT_EQ(kind, std::variant_size_v<TabletCall>);
}

TEST(TabletMessages, AReplyHasRowsOrAnError) {
  TabletReply reply;
  reply.kind = 7;
  reply.timestamp = 12;
  std::string image;
  table::begin_image(image);
  table::append_cell(image, 0, false, Value(std::int64_t{5}));
  table::append_cell(image, 2, false, Value("text"));
  table::finish_image(image, 2);
  reply.rows = {{true, image}, {false, ""}};
  const auto read = decode_tablet_reply(encode(reply));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_TRUE(read->status);
  EXPECT_EQ(read->rows, reply.rows);

  TabletReply refusal;
  refusal.status = fail(Errc::kAborted, "a conflict");
  const auto refused = decode_tablet_reply(encode(refusal));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status.error().code, Errc::kAborted);
  EXPECT_EQ(refused->status.error().context, "a conflict");
}

ScanPage some_page() {
  ScanPage page;
  page.next = "position";
  page.batch.rows = 2;
  page.batch.columns.resize(3);
  page.batch.columns[0] = {ValueType::kInt64, {1, 2}, {}, {}};
  page.batch.columns[1] = {ValueType::kString, {}, {"text", ""}, {0, 1}};
  page.batch.columns[2] = {ValueType::kBoolean, {1, 0}, {}, {}};
  return page;
}

TEST(TabletMessages, AReplyHasAPage) {
  TabletReply reply;
  reply.page = some_page();
  const auto read = decode_tablet_reply(encode(reply));
  ASSERT_TRUE(read) << read.error().message();
  const ScanPage& page = read->page;
  EXPECT_EQ(page.next, "position");
  ASSERT_EQ(page.batch.rows, 2u);
  ASSERT_EQ(page.batch.columns.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(page.batch.columns[i].type, reply.page.batch.columns[i].type);
    EXPECT_EQ(page.batch.columns[i].words, reply.page.batch.columns[i].words);
    EXPECT_EQ(page.batch.columns[i].texts, reply.page.batch.columns[i].texts);
    EXPECT_EQ(page.batch.columns[i].nulls, reply.page.batch.columns[i].nulls);
  }
}

TEST(TabletMessages, WrongPagesAreRefused) {
  TabletReply reply;
  reply.page = some_page();
  reply.page.batch.columns[2].words[0] = 2;  // A boolean.
  EXPECT_FALSE(decode_tablet_reply(encode(reply)));
  reply.page = some_page();
  reply.page.batch.columns[1].nulls[0] = 2;
  EXPECT_FALSE(decode_tablet_reply(encode(reply)));
  reply.page = some_page();
  reply.page.batch.columns[0].type = ValueType::kNull;
  EXPECT_FALSE(decode_tablet_reply(encode(reply)));
  reply.page = ScanPage();
  reply.page.batch.rows = kPageRowsMax + 1;
  EXPECT_FALSE(decode_tablet_reply(encode(reply)));
}

TEST(TabletMessages, AReplyHasVersions) {
  TabletReply reply;
  reply.versions.exists = true;
  reply.versions.row.write_timestamps = {9, 5};
  reply.versions.row.delete_timestamps = {7};
  reply.versions.row.values = {{Value("new"), 9, 3, false}, {Value(2.5), 5, 4, true}};
  const auto read = decode_tablet_reply(encode(reply));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_TRUE(read->versions.exists);
  EXPECT_EQ(read->versions.row.write_timestamps, reply.versions.row.write_timestamps);
  EXPECT_EQ(read->versions.row.delete_timestamps, reply.versions.row.delete_timestamps);
  ASSERT_EQ(read->versions.row.values.size(), 2u);
  EXPECT_EQ(read->versions.row.values[0].value, Value("new"));
  EXPECT_EQ(read->versions.row.values[1].value, Value(2.5));
  EXPECT_EQ(read->versions.row.values[1].column, 4);
  EXPECT_TRUE(read->versions.row.values[1].aggregate);
}

TEST(TabletMessages, ListsAreBounded) {
  LookupCall lookup;
  lookup.keys.resize(kKeysPerCallMax + 1);
  EXPECT_FALSE(decode_tablet_request(encode(TabletRequest{TabletId{1}, 1, lookup})));
  lookup.columns.resize(1'000);
  lookup.keys.resize(keys_for(1'000) + 1);
  EXPECT_FALSE(decode_tablet_request(encode(TabletRequest{TabletId{1}, 1, lookup})));
  lookup.keys.resize(keys_for(1'000));
  EXPECT_TRUE(decode_tablet_request(encode(TabletRequest{TabletId{1}, 1, lookup})));
  ScanCall scan;
  scan.columns.resize(kColumnsPerCallMax + 1);
  EXPECT_FALSE(decode_tablet_request(encode(TabletRequest{TabletId{1}, 1, scan})));
  scan.columns.clear();
  scan.filters.resize(kFiltersPerCallMax + 1);
  EXPECT_FALSE(decode_tablet_request(encode(TabletRequest{TabletId{1}, 1, scan})));
  scan.filters.resize(kFiltersPerCallMax);
  EXPECT_TRUE(decode_tablet_request(encode(TabletRequest{TabletId{1}, 1, scan})));
  scan.conditions.resize(1);
  EXPECT_FALSE(decode_tablet_request(encode(TabletRequest{TabletId{1}, 1, scan})));
  scan.filters.clear();
  std::vector<Value> values;
  for (std::uint64_t i = 0; i <= kIntervalsPerCallMax; ++i) values.emplace_back(i);
  scan.conditions[0].values = table::ValueSet::of(values);
  EXPECT_FALSE(decode_tablet_request(encode(TabletRequest{TabletId{1}, 1, scan})));
}

// Numbers of codes are part of the format: an added code has a number above all others.
TEST(TabletMessages, EveryErrorKeepsItsNumber) {
  for (std::uint8_t number = 0; number <= static_cast<std::uint8_t>(kErrcLast); ++number) {
    TabletReply refusal;
    refusal.status = fail(static_cast<Errc>(number), "why");
    const Slice bytes = encode(refusal);
    EXPECT_EQ(static_cast<std::uint8_t>(bytes.data()[kStatusAt]), 1 + number);
    const auto refused = decode_tablet_reply(bytes);
    ASSERT_TRUE(refused) << refused.error().message();
    EXPECT_EQ(refused->status.error().code, static_cast<Errc>(number));
  }
  EXPECT_EQ(static_cast<int>(Errc::kUnavailable), 9);
  EXPECT_EQ(static_cast<int>(Errc::kUnknownOutcome), 13);
  EXPECT_EQ(static_cast<int>(Errc::kNotHere), 14);
}

TEST(TabletMessages, AnErrorOfAnUnknownNumberIsRefused) {
  TabletReply refusal;
  refusal.status = fail(kErrcLast, "why");
  const Slice good = encode(refusal);
  Encoder other;
  other.raw(good.sub(0, good.size() - sizeof(std::uint32_t)));
  other.span()[kStatusAt] = static_cast<std::byte>(2 + static_cast<std::uint8_t>(kErrcLast));
  EXPECT_EQ(decode_tablet_reply(seal(std::move(other))).error().code, Errc::kCorrupt);
}

TEST(TabletMessages, ARowThatIsNoImageIsRefused) {
  TabletReply reply;
  reply.rows = {{true, "no image"}};
  EXPECT_FALSE(decode_tablet_reply(encode(reply)));
  reply.rows = {{false, "image of nothing"}};
  EXPECT_FALSE(decode_tablet_reply(encode(reply)));
}

TEST(TabletMessages, AnyFlippedByteIsNoticed) {
  const Slice whole = encode(TabletRequest{TabletId{42}, 1'000, CommitCall{write()}});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::vector<std::byte> bytes(whole.span().begin(), whole.span().end());
    bytes[i] ^= std::byte{1};
    EXPECT_FALSE(decode_tablet_request(Slice::copy_of(bytes)));
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_tablet_request(whole.sub(0, size)));
  }
}

}  // namespace
}  // namespace moraine

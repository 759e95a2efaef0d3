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
          LookupCall{500, {0, 2}, {"k1", "k2"}},
          ScanCall{kAsyncLastCommitted, {1}, {"from", "to"}, 100}};
}

TEST(TabletMessages, AreReadAsTheyWereWritten) {
  std::size_t kind = 0;
  for (const TabletCall& call : all_calls()) {
    EXPECT_EQ(call.index(), kind++);
    const Slice bytes = encode(TabletRequest{TabletId{42}, call});
    const auto read = decode_tablet_request(bytes);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->tablet.value, 42u);
    EXPECT_EQ(read->call.index(), call.index());
    EXPECT_TRUE(equal(encode(*read), bytes));
  }
  EXPECT_EQ(kind, std::variant_size_v<TabletCall>);
}

TEST(TabletMessages, AReplyHasRowsOrAnError) {
  TabletReply reply;
  reply.kind = 7;
  reply.timestamp = 12;
  reply.more = true;
  std::string image;
  table::begin_image(image);
  table::append_cell(image, 0, false, Value(std::int64_t{5}));
  table::append_cell(image, 2, false, Value("text"));
  table::finish_image(image, 2);
  reply.rows = {{true, "key", image}, {false, "", ""}};
  const auto read = decode_tablet_reply(encode(reply));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_TRUE(read->status);
  EXPECT_EQ(read->rows, reply.rows);
  EXPECT_TRUE(read->more);

  TabletReply refusal;
  refusal.status = fail(Errc::kAborted, "a conflict");
  const auto refused = decode_tablet_reply(encode(refusal));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status.error().code, Errc::kAborted);
  EXPECT_EQ(refused->status.error().context, "a conflict");
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
  reply.rows = {{true, "key", "no image"}};
  EXPECT_FALSE(decode_tablet_reply(encode(reply)));
  reply.rows = {{false, "key", "image of nothing"}};
  EXPECT_FALSE(decode_tablet_reply(encode(reply)));
}

TEST(TabletMessages, AnyFlippedByteIsNoticed) {
  const Slice whole = encode(TabletRequest{TabletId{42}, CommitCall{write()}});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::vector<std::byte> bytes(whole.span().begin(), whole.span().end());
    bytes[i] ^= std::byte{1};
    EXPECT_FALSE(decode_tablet_request(bytes));
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_tablet_request(whole.span().first(size)));
  }
}

}  // namespace
}  // namespace moraine

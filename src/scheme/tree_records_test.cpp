#include "scheme/tree_records.h"

#include <gtest/gtest.h>

#include "base/coding.h"
#include "io/random.h"

namespace moraine {
namespace {

PathId id(std::uint8_t number) {
  PathId made{};
  made[15] = number;
  return made;
}
NodePtr node(std::string path) {
  PathNode made;
  made.path = std::move(path);
  made.id = id(9);
  made.system.emplace("account", Slice::copy_of("x"));
  made.modified_ms = 7;
  made.revision = 8;
  return std::make_shared<const PathNode>(std::move(made));
}

template <class Record, class Decode>
void check_bytes(const Record& record, Decode decode) {
  const Slice bytes = encode(record);
  const auto again = decode(bytes);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(encode(*again).text(), bytes.text());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    Encoder bad;
    bad.raw(bytes);
    bad.span()[at] ^= std::byte{1};
    EXPECT_FALSE(decode(bad.span())) << at;
  }
}

TEST(TreeRecords, KeepEverything) {
  TreeTransaction transaction{id(1), id(2), 3, 4, 5, "root", {{"title", Slice::copy_of("t")}}};
  check_bytes(transaction, decode_transaction);
  EXPECT_EQ(decode_transaction(encode(transaction))->parent, id(2));
  transaction.parent = std::nullopt;
  EXPECT_EQ(decode_transaction(encode(transaction))->parent, std::nullopt);

  TreeEntry entry;
  entry.record = Slice::copy_of("r");
  entry.attributes["a"] = Slice::copy_of("1");
  entry.attributes["b"] = std::nullopt;
  entry.system["account"] = std::nullopt;
  entry.modified_ms = 3;
  entry.revision = 4;
  check_bytes(entry, decode_entry);
  const auto changed = decode_entry(encode(entry));
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->attributes.at("a")->text(), "1");
  EXPECT_FALSE(changed->attributes.at("b"));
  EXPECT_EQ(changed->record->text(), "r");

  TreeEntry made;
  made.kind = TreeEntry::Kind::kMade;
  made.made = node("a/b");
  check_bytes(made, decode_entry);
  EXPECT_EQ(decode_entry(encode(made))->made->path, "a/b");

  LockRecord lock{id(1), id(2), id(3), LockMode::kShared, "child", std::nullopt, true, false, 5, 6};
  check_bytes(lock, decode_lock);
  const auto same = decode_lock(encode(lock));
  ASSERT_TRUE(same);
  EXPECT_EQ(same->child_key, "child");
  EXPECT_FALSE(same->attribute_key);
  EXPECT_TRUE(same->implicit);
  EXPECT_FALSE(same->acquired);

  check_bytes(TreeSnapshot{node("a"), {{"x", id(4)}, {"y", id(5)}}}, decode_snapshot);
  check_bytes(MutationRecord{id(1), 2, Slice::copy_of("result")}, decode_mutation);
}

TEST(TreeRecords, AnEntryHasANodeExactlyWhenItMadeOne) {
  TreeEntry entry;
  entry.kind = TreeEntry::Kind::kMade;
  EXPECT_EQ(decode_entry(encode(entry)).error().code, Errc::kCorrupt);
  entry.kind = TreeEntry::Kind::kRemoved;
  EXPECT_TRUE(decode_entry(encode(entry)));
  entry.made = node("a");
  EXPECT_EQ(decode_entry(encode(entry)).error().code, Errc::kCorrupt);
}

}  // namespace
}  // namespace moraine

#include "gateway/yt/key_limit.h"

#include <gtest/gtest.h>

#include "yson/yson.h"

namespace moraine::yt {
namespace {

class KeyLimits : public testing::Test {
 protected:
  const KeyLimit& limit(std::string_view key, bool after_prefix = false) {
    const auto parsed = parse_yson(key);
    EXPECT_TRUE(parsed) << key;
    ReadLimit& read = *reads_.emplace_back(std::make_unique<ReadLimit>());
    read.key = *parsed->as<YsonList>();
    read.after_prefix = after_prefix;
    const auto made = KeyLimit::make(read);
    EXPECT_TRUE(made) << key;
    return *limits_.emplace_back(std::make_unique<KeyLimit>(*made));
  }
  static bool before(const KeyLimit& limit, std::vector<Value> key) { return limit.is_before(key); }

  std::vector<std::unique_ptr<ReadLimit>> reads_;
  std::vector<std::unique_ptr<KeyLimit>> limits_;
};

TEST_F(KeyLimits, APrefixIsBeforeTheKeysThatBeginWithIt) {
  const KeyLimit& one = limit("[1]");
  EXPECT_FALSE(before(one, {Value(0), Value("z")}));
  EXPECT_TRUE(before(one, {Value(1), Value()}));
  EXPECT_TRUE(before(one, {Value(2), Value("a")}));
  const KeyLimit& after = limit("[1]", true);
  EXPECT_FALSE(before(after, {Value(1), Value("z")}));
  EXPECT_TRUE(before(after, {Value(2), Value()}));
}

TEST_F(KeyLimits, SentinelsAndOtherTypes) {
  EXPECT_TRUE(before(limit("[1;<type=min>#]"), {Value(1), Value()}));
  EXPECT_FALSE(before(limit("[1;<type=max>#]"), {Value(1), Value("z")}));
  EXPECT_TRUE(before(limit("[1;#]"), {Value(1), Value()}));
  EXPECT_FALSE(before(limit("[1u]"), {Value(5)})) << "every int64 is less than every uint64";
  EXPECT_FALSE(before(limit("[1;2;3]"), {Value(1), Value(2)})) << "a key that is too long";
  EXPECT_TRUE(before(limit("[]"), {Value(1)}));
  EXPECT_FALSE(before(limit("[]", true), {Value(1)}));
}

TEST_F(KeyLimits, WhatScansCanSeek) {
  std::vector<ColumnSchema> columns(2);
  columns[0].type = ColumnType::kInt64;
  columns[1].type = ColumnType::kString;
  EXPECT_EQ(limit("[1;a]").seek(columns), (std::vector<Value>{Value(1), Value("a")}));
  EXPECT_TRUE(limit("[1;a]").is_exact(columns));
  EXPECT_FALSE(limit("[1;a]", true).is_exact(columns));
  EXPECT_EQ(limit("[1;5]").seek(columns), (std::vector<Value>{Value(1)}));
  EXPECT_FALSE(limit("[1;5]").is_exact(columns));
  EXPECT_TRUE(limit("[1u]").seek(columns).empty());
  EXPECT_FALSE(limit("[1;a;b]").is_exact(columns));
  EXPECT_TRUE(KeyLimit().none());
}

TEST_F(KeyLimits, ListsAreNoValuesOfKeys) {
  ReadLimit read;
  read.key = YsonList{YsonNode(YsonList())};
  EXPECT_FALSE(KeyLimit::make(read));
}

}  // namespace
}  // namespace moraine::yt

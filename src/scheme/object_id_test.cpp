#include "scheme/object_id.h"

#include <gtest/gtest.h>

namespace moraine {
namespace {

TEST(ObjectId, TextsParseToTheirIds) {
  PathId id{};
  id[3] = 0x1;
  id[7] = 0x2a;
  id[9] = 0x01;
  id[10] = 0x01;
  id[11] = 0x91;
  id[15] = 0x5f;
  EXPECT_EQ(to_text(id), "1-2a-10191-5f");
  EXPECT_EQ(parse_object_id("1-2a-10191-5f"), id);
  EXPECT_EQ(object_type(id), ObjectType::kTable);
  EXPECT_EQ(to_text(kNullObjectId), "0-0-0-0");
}

TEST(ObjectId, OtherTextsAreRefused) {
  for (const char* text : {"", "1", "1-2-3", "1-2-3-", "1-2-3-4-5", "-1-2-3-4", "1-2-3-100000000",
                           "1-2-3-4 ", "1-2-3-x", "+1-2-3-4", "--1-2-3"}) {
    EXPECT_FALSE(parse_object_id(text)) << text;
  }
}

}  // namespace
}  // namespace moraine

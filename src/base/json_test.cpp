#include "base/json.h"

#include <gtest/gtest.h>

namespace moraine {
namespace {

TEST(Json, NestsObjectsAndArrays) {
  Json json;
  json.object().field("a", 1).key("b").array().value(true).null().object().end().end();
  json.field("c", "x").field("d", std::uint64_t{18446744073709551615u}).field("e", 0.5).end();
  EXPECT_EQ(json.take(), R"({"a":1,"b":[true,null,{}],"c":"x","d":18446744073709551615,"e":0.5})");
}

TEST(Json, EscapesQuotesControlsAndWhatIsNoUtf8) {
  Json json;
  json.array().value("a\"b\\\n\x01").value("h\xc3\xa9").value("\xff\xc3").end();
  EXPECT_EQ(json.take(), "[\"a\\\"b\\\\\\u000a\\u0001\",\"h\xc3\xa9\",\"\\ufffd\\ufffd\"]");
}

TEST(Base64, PadsToFours) {
  EXPECT_EQ(base64({}), "");
  EXPECT_EQ(base64(as_bytes("f")), "Zg==");
  EXPECT_EQ(base64(as_bytes("fo")), "Zm8=");
  EXPECT_EQ(base64(as_bytes("foobar")), "Zm9vYmFy");
}

}  // namespace
}  // namespace moraine

#include "gateway/yt/batch.h"

#include "gateway/yt/yt_test_util.h"

namespace moraine::yt {
namespace {

using Batches = YtTest;

TEST(FollowingIds, CountInTheLastNumber) {
  const PathId id = *parse_object_id("1-2-3-fffffffe");
  EXPECT_EQ(following_id(id, 0), id);
  EXPECT_EQ(to_text(following_id(id, 1)), "1-2-3-ffffffff");
  EXPECT_EQ(to_text(following_id(id, 3)), "1-2-3-1");
}

TEST_F(Batches, EveryRequestHasAnOutcome) {
  const std::string requests = R"({"requests":[
      {"command":"parse_ypath","parameters":{"path":"//a"}},
      {"command":"parse_ypath","parameters":{}},
      {"command":"read_table","parameters":{"path":"//a"}},
      {"command":"execute_batch","parameters":{"requests":[]}},
      {"command":"none"}, {"parameters":{}}, 5]})";
  const Response v4 =
      send("POST", "/api/v4/execute_batch", {{"Content-Type", "application/json"}}, requests);
  EXPECT_TRUE(v4.body.starts_with(R"({"results":[{"output":{"path":"//a"}},{"error":{"code":1,)"))
      << v4.body;
  EXPECT_NE(v4.body.find(R"(Command \"read_table\" cannot be part of a batch)"), std::string::npos);
  EXPECT_NE(v4.body.find(R"(Command \"execute_batch\" cannot be)"), std::string::npos);
  EXPECT_NE(v4.body.find(R"(Unknown command \"none\")"), std::string::npos);
  const Response v3 =
      send("POST", "/api/v3/execute_batch", {{"Content-Type", "application/json"}}, requests);
  EXPECT_TRUE(v3.body.starts_with(R"([{"output":"//a"},)")) << v3.body;
  EXPECT_EQ(send("POST", "/api/v4/execute_batch").status, 400u);
}

TEST_F(Batches, RequestsBehindTheBoundOfAnswersAreNotRun) {
  const std::size_t bytes = 512u << 10;
  const std::size_t fit = kBatchAnswerBytesMax / bytes;
  const std::string text = "\"" + std::string(bytes, 'x') + "\"";
  ASSERT_EQ(send("PUT", "/api/v3/set?path=//tmp/x", {}, text).status, 200u);
  const std::string get = R"({"command":"get","parameters":{"path":"//tmp/x"}})";
  std::string requests = get;
  for (std::size_t i = 0; i < fit; ++i) requests += "," + get;
  requests += R"(,{"command":"remove","parameters":{"path":"//tmp/x"}})";
  const Response answer =
      send("POST", "/api/v3/execute_batch", {{"Content-Type", "application/json"}},
           R"({"requests":[)" + requests + "]}");
  EXPECT_GT(answer.body.size(), (fit - 1) * bytes);
  EXPECT_LT(answer.body.size(), (fit + 1) * bytes);
  EXPECT_NE(answer.body.find("Not run: earlier answers"), std::string::npos);
  EXPECT_EQ(send("GET", "/api/v3/exists?path=//tmp/x").body, "true") << "no later change is made";
}

}  // namespace
}  // namespace moraine::yt

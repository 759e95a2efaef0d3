#include "gateway/yt/door.h"

#include "gateway/yt/wall_time.h"
#include "gateway/yt/yt_test_util.h"

namespace moraine::yt {
namespace {

using Doors = YtTest;

TEST_F(Doors, VersionsAndHosts) {
  EXPECT_EQ(send("GET", "/api").body, R"(["v3","v4"])");
  EXPECT_EQ(send("GET", "/api/").body, R"(["v3","v4"])");
  EXPECT_EQ(send("GET", "/hosts?address_type=http").body, R"(["yt.test:80"])");
  EXPECT_EQ(send("GET", "/hosts?role=data").body, R"(["yt.test:80"])");
  EXPECT_EQ(send("GET", "/hosts?role=control").body, "[]");
  EXPECT_NE(send("GET", "/hosts/all").body.find(R"("banned":false)"), std::string::npos);
  EXPECT_EQ(send("GET", "/ping/").status, 200u);
  EXPECT_EQ(send("GET", "/cluster_connection/abcd").status, 404u);
  EXPECT_EQ(send("GET", "/cluster_connection/?x=y").body, send("GET", "/cluster_connection").body);
  EXPECT_NE(send("POST", "/auth/whoami").body.find(R"("login":"root")"), std::string::npos);
}

TEST_F(Doors, CommandsAreDescribedPerVersion) {
  const std::string v3 = send("GET", "/api/v3").body;
  const std::string v4 = send("GET", "/api/v4/").body;
  EXPECT_NE(v4.find(R"({"name":"insert_rows","input_type":"tabular","output_type":"structured",)"
                    R"("is_volatile":true,"is_heavy":true})"),
            std::string::npos)
      << v4;
  EXPECT_NE(v3.find(R"({"name":"insert_rows","input_type":"tabular","output_type":"null")"),
            std::string::npos);
  EXPECT_NE(v3.find(R"("name":"start_tx")"), std::string::npos);
  EXPECT_EQ(v4.find(R"("name":"start_tx")"), std::string::npos);
  EXPECT_EQ(v3.find(R"("name":"start_transaction")"), std::string::npos);
}

TEST_F(Doors, UnknownCommandsVersionsAndNames) {
  const Response unknown = send("GET", "/api/v3/find_meaning_of_life");
  EXPECT_EQ(unknown.status, 404u);
  EXPECT_NE(unknown.body.find(R"(Command \"find_meaning_of_life\" is not registered)"),
            std::string::npos)
      << unknown.body;
  EXPECT_EQ(send("GET", "/api/v5/get").status, 404u);
  EXPECT_EQ(send("GET", "/api/v4/get1").status, 404u);
  EXPECT_EQ(send("GET", "/api/v4/get/x").status, 404u);
  EXPECT_EQ(send("GET", "/api/v4/GET_current_USER").status, 200u);
}

TEST_F(Doors, WhatIsNotSupportedSaysSo) {
  const Response response = send("POST", "/api/v4/start_operation");
  EXPECT_EQ(response.status, 400u);
  EXPECT_NE(response.body.find("is not supported"), std::string::npos);
  EXPECT_EQ(response.field("x-yt-response-code"), "1");
}

TEST_F(Doors, ParametersComeFromEverywhereLaterOnesWin) {
  // Query string, header in text YSON, header in JSON parts, body.
  EXPECT_EQ(send("GET", "/api/v4/parse_ypath?path=//a").body, R"({"path":"//a"})");
  EXPECT_EQ(
      send("GET", "/api/v4/parse_ypath?path=//a",
           {{"X-YT-Header-Format", "<format=text>yson"}, {"X-YT-Parameters", "{path=\"//b\"}"}})
          .body,
      R"({"path":"//b"})");
  // {"path":"//c"} in base64, in two parts.
  EXPECT_EQ(send("GET", "/api/v4/parse_ypath",
                 {{"X-YT-Parameters-0", "eyJwYXRoI"}, {"X-YT-Parameters-1", "joiLy9jIn0="}})
                .body,
            R"({"path":"//c"})");
  EXPECT_EQ(send("POST", "/api/v4/parse_ypath?path=//a",
                 {{"Content-Type", "application/x-yt-yson-text"}}, "{path=\"//d\"}")
                .body,
            R"({"path":"//d"})");
  EXPECT_EQ(send("POST", "/api/v4/parse_ypath", {{"Content-Type", "application/json"}},
                 R"({"path":"//e"})")
                .body,
            R"({"path":"//e"})");
  EXPECT_EQ(send("GET", "/api/v4/parse_ypath?path[$value]=//f&path[$attributes][append]=1").body,
            R"({"path":{"$attributes":{"append":1},"$value":"//f"}})");
}

TEST_F(Doors, FormatsComeFromParametersHeadersAndTypes) {
  const std::string target = "/api/v4/get_current_user";
  EXPECT_EQ(send("GET", target).body, R"({"user":"root"})");
  EXPECT_EQ(send("GET", target, {{"X-YT-Output-Format", R"("yson")"}}).field("content-type"),
            "application/x-yt-yson-binary");
  EXPECT_EQ(send("GET", target, {{"Accept", "application/x-yt-yson-text"}}).body,
            R"({"user"="root";})");
  EXPECT_EQ(
      send("GET", target + "?output_format[$value]=yson&output_format[$attributes][format]=text")
          .body,
      R"({"user"="root";})");
  EXPECT_EQ(send("GET", target, {{"X-YT-User-Name", "ann"}}).body, R"({"user":"ann"})");
}

TEST_F(Doors, ErrorsHaveHeadersAndABodyInTheFormatAskedFor) {
  const Response json = send("GET", "/api/v4/parse_ypath");
  EXPECT_EQ(json.status, 400u);
  EXPECT_EQ(json.field("x-yt-response-code"), "1");
  EXPECT_EQ(json.field("x-yt-error"), json.body);
  EXPECT_EQ(json.field("content-type"), "application/json");
  EXPECT_NE(json.body.find(R"("message":"Missing required parameter /path")"), std::string::npos);
  const Response yson = send(
      "GET", "/api/v4/parse_ypath",
      {{"X-YT-Header-Format", "<format=text>yson"}, {"X-YT-Error-Format", "<format=text>yson"}});
  EXPECT_EQ(yson.status, 400u);
  EXPECT_EQ(yson.field("x-yt-error-content-type"), "application/x-yt-yson-text");
  EXPECT_NE(yson.body.find(R"("message"="Missing required parameter /path")"), std::string::npos);
}

TEST_F(Doors, LongErrorsFitIntoAHeader) {
  const std::string path = std::string(20'000, '[');
  const Response response = send("GET", "/api/v4/parse_ypath?path=//t" + path);
  EXPECT_EQ(response.status, 400u);
  EXPECT_LE(response.field("x-yt-error").size(), kErrorHeaderBytesMax);
  EXPECT_NE(response.field("x-yt-error").find("YPath"), std::string::npos);
  EXPECT_GT(response.body.size(), 20'000u);
}

TEST_F(Doors, CodingsAndCredentials) {
  const std::string target = "/api/v4/get_current_user";
  EXPECT_EQ(send("GET", target, {{"Content-Encoding", "snappy"}}).status, 415u);
  EXPECT_EQ(send("GET", target, {{"Accept-Encoding", "snappy"}}).status, 415u);
  EXPECT_EQ(send("GET", target, {{"Accept-Encoding", "snappy, br"}}).status, 200u);
  EXPECT_EQ(send("GET", target, {{"Authorization", "OAuth abc"}}).status, 200u);
  EXPECT_EQ(send("GET", target, {{"Authorization", "Bearer abc"}}).status, 200u);
  const Response refused = send("GET", target, {{"Authorization", "Basic abc"}});
  EXPECT_EQ(refused.status, 401u);
  EXPECT_EQ(refused.field("x-yt-response-code"), "111");
}

TEST_F(Doors, EveryAnswerNamesTheRequest) {
  const Response response = send("GET", "/api/v4/get_current_user", {{"X-YT-Correlation-Id", "c"}});
  EXPECT_NE(response.field("x-yt-request-id"), "");
  EXPECT_EQ(response.field("x-yt-correlation-id"), "c");
  EXPECT_EQ(response.field("cache-control"), "no-store");
  EXPECT_EQ(response.field("x-yt-response-parameters"), "{}");
  EXPECT_EQ(response.field("x-yt-proxy"), "yt.test:80");
}

TEST_F(Doors, TimestampsGrow) {
  const std::string first = send("GET", "/api/v3/generate_timestamp").body;
  const std::string second = send("GET", "/api/v3/generate_timestamp", {}, {}, 1).body;
  EXPECT_LT(std::stoull(first), std::stoull(second));
}

TEST(WallTime, HasFractionsOfASecond) {
  EXPECT_EQ(wall_time(std::chrono::milliseconds(1'714'558'830'123)), "2024-05-01T10:20:30.123000Z");
}

}  // namespace
}  // namespace moraine::yt

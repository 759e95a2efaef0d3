// Whatever a client sends, or stops to send or to read, it gets a proper error or its connection
// ends, and others are served.
#include "gateway/yt/coding.h"
#include "gateway/yt/yt_test_util.h"

namespace moraine::yt {
namespace {

class Attacks : public YtTest {
 protected:
  Attacks() { create_table("t", small_schema()); }

  void expect_alive() {
    EXPECT_EQ(send("GET", "/api/v4/get_current_user").body, R"({"user":"root"})");
  }
  // A proper error of YTsaurus.
  void expect_refused(const Response& response, const std::string& what) {
    EXPECT_GE(response.status, 400u) << what;
    EXPECT_LT(response.status, 500u) << what;
    EXPECT_NE(response.body.find("\"code\":"), std::string::npos) << what << ": " << response.body;
    EXPECT_NE(response.field("x-yt-error"), "") << what;
  }
};

TEST_F(Attacks, HeadersThatAreNoFormatsOrParameters) {
  const std::string target = "/api/v4/lookup_rows?path=//t";
  for (const char* name : {"X-YT-Header-Format", "X-YT-Input-Format", "X-YT-Output-Format",
                           "X-YT-Error-Format", "X-YT-Parameters", "X-YT-Parameters0"}) {
    for (const std::string& value :
         {std::string("{"), std::string("<a=>"), std::string("nonsense"), std::string("[1]"),
          std::string("\"skiff\""), std::string(10'000, '['), std::string(10'000, '<'),
          std::string("99999999999999999999999999")}) {
      expect_refused(send("PUT", target, {{name, value}}), name + (": " + value.substr(0, 20)));
    }
  }
  expect_alive();
}

TEST_F(Attacks, BodiesThatAreNoRows) {
  const std::vector<std::string> bodies = {
      std::string(10'000, '['),
      "{k=" + std::string(10'000, '['),
      "{k=" + std::string(10'000, '<'),
      "{k=1;k=2}",
      "{k=1",
      "{k=99999999999999999999}",
      "{k=%nan}",
      "{k=1;\"\"=5}",
      "5",
      "{=5}",
      std::string("\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11),
      std::string("\0\0\0", 3),
  };
  for (const std::string& body : bodies) {
    for (const char* name : {"insert_rows", "delete_rows", "lookup_rows"}) {
      expect_refused(call(name, R"({"path":"//t"})", body), name + (": " + body.substr(0, 20)));
    }
  }
  for (const char* format : {"json", "dsv", "yson"}) {
    const std::string parameters = fmt::format(R"({{"path":"//t","input_format":"{}"}})", format);
    expect_refused(call("insert_rows", parameters, "{\"k\":" + std::string(20'000, '[')), format);
  }
  expect_alive();
}

TEST_F(Attacks, ParametersOfWrongTypes) {
  for (const char* parameters :
       {R"({})", R"({"path":5})", R"({"path":[]})", R"({"path":""})", R"({"path":"t"})",
        R"({"path":"//t","timestamp":"x"})", R"({"path":"//t","timestamp":-1})",
        R"({"path":"//t","column_names":5})", R"({"path":"//t","column_names":["none"]})",
        R"({"path":"//t","transaction_id":"x"})", R"({"path":"//t","transaction_id":"1-2-3-4"})",
        R"({"path":"//t","transaction_id":"1-2-ffff0002-4"})", R"({"path":"//t","versioned":5})",
        R"({"path":"//t","retention_config":5})", R"({"path":"//t","versioned_read_options":5})",
        R"({"path":"//t","input_format":{"a":1}})", R"({"path":"//t","output_format":"none"})"}) {
    expect_refused(call("lookup_rows", parameters, "{k=1}"), parameters);
  }
  for (const char* name : {"select_rows", "read_table", "write_table", "mount_table", "alter_table",
                           "reshard_table", "start_transaction", "execute_batch", "lock_rows"}) {
    expect_refused(call(name, R"({"path":{},"query":[],"timeout":[],"requests":{}})"), name);
  }
  expect_alive();
}

TEST_F(Attacks, BodiesThatAreNotInTheirCoding) {
  const std::string parameters = R"({"path":"//t"})";
  for (const char* coding : {"gzip", "br", "deflate"}) {
    expect_refused(send("PUT", "/api/v4/insert_rows",
                        {{"X-YT-Parameters", parameters}, {"Content-Encoding", coding}}, "{k=1}"),
                   coding);
  }
  // Much from little: it is refused at the row's limit, or as no row.
  const auto encoder = make_encoder(Coding::kGzip);
  std::string bomb;
  for (int i = 0; i < 64; ++i) bomb += encoder->encode(std::string(1 << 20, '['), false);
  bomb += encoder->encode({}, true);
  expect_refused(send("PUT", "/api/v4/insert_rows",
                      {{"X-YT-Parameters", parameters}, {"Content-Encoding", "gzip"}}, bomb),
                 "a bomb");
  expect_refused(
      send("POST", "/api/v4/execute_batch",
           {{"Content-Type", "application/x-yt-yson-text"}, {"Content-Encoding", "gzip"}}, bomb),
      "a bomb as parameters");
  expect_alive();
}

TEST_F(Attacks, ABatchThatIsTooLong) {
  std::string requests = "{requests=[";
  for (int i = 0; i < 20'000; ++i) requests += "{};";
  expect_refused(send("POST", "/api/v4/execute_batch",
                      {{"Content-Type", "application/x-yt-yson-text"}}, requests + "]}"),
                 "batch");
}

TEST_F(Attacks, AHeaderThatIsTooLong) {
  const Response response =
      send("GET", "/api/v4/select_rows", {{"X-YT-Parameters", std::string(1 << 20, 'x')}});
  EXPECT_EQ(response.status, 431u);
  const std::string query = "* from [//t] where v = '" + std::string(100'000, 'q') + "'";
  EXPECT_EQ(result("select_rows", R"({"query":")" + query + "\"}"), "");
}

TEST_F(Attacks, AClientThatVanishesInsideItsRowsWritesNone) {
  auto [client, server] = make_sim_streams(node_.world().executor(), node_.lane(0));
  connections_.spawn(serve(0, std::move(server)));
  connections_.spawn(write(client,
                           "PUT /api/v4/insert_rows?path=//t HTTP/1.1\r\nHost: h\r\n"
                           "Content-Length: 1000\r\n\r\n{k=1;v=a};{k=2"));
  node_.world().run_for(1s);
  client->close();
  node_.world().run_for(1s);
  EXPECT_EQ(result("lookup_rows", R"({"path":"//t"})", "{k=1}"), "");
}

TEST_F(Attacks, AClientThatDoesNotReadIsDisconnected) {
  std::string rows;
  std::string keys;
  for (int i = 0; i < 20'000; ++i) {
    rows += fmt::format("{{k={};v=\"{}\"}};", i, std::string(100, 'v'));
    keys += fmt::format("{{k={}}};", i);
  }
  result("insert_rows", R"({"path":"//t"})", rows);
  auto [client, server] = make_sim_streams(node_.world().executor(), node_.lane(0));
  connections_.spawn(serve(0, std::move(server)));
  connections_.spawn(
      write(client, fmt::format("PUT /api/v4/lookup_rows?path=//t HTTP/1.1\r\nHost: h\r\n"
                                "Content-Length: {}\r\n\r\n{}",
                                keys.size(), keys)));
  node_.world().run_for(5s);
  EXPECT_GT(services_[0]->connections(), 0u);
  expect_alive();
  node_.world().run_for(200s);
  EXPECT_EQ(services_[0]->connections(), 0u);
  EXPECT_EQ(answers_.bytes(), 0u);
  client->close();
}

}  // namespace
}  // namespace moraine::yt

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
  expect_alive();
}

// Much from little: it is refused at the row's limit, or as no row; what is blank is skipped.
TEST_F(Attacks, BombsInEveryCoding) {
  for (const Coding coding : {Coding::kGzip, Coding::kDeflate, Coding::kBrotli}) {
    const std::string name(to_string(coding));
    const auto bomb_of = [&](char c) {
      const auto encoder = make_encoder(coding);
      std::string bomb;
      for (int i = 0; i < 64; ++i) bomb += encoder->encode(std::string(1 << 20, c), false);
      bomb += encoder->encode("{k=77;v=b}", false);
      return bomb + encoder->encode({}, true);
    };
    const std::string brackets = bomb_of('[');
    EXPECT_LT(brackets.size(), 400'000u);
    expect_refused(
        send("PUT", "/api/v4/insert_rows",
             {{"X-YT-Parameters", R"({"path":"//t"})"}, {"Content-Encoding", name}}, brackets),
        name);
    for (const char* command : {"execute_batch", "set"}) {
      expect_refused(
          send("POST", fmt::format("/api/v4/{}?path=//tmp/doc", command),
               {{"Content-Type", "application/x-yt-yson-text"}, {"Content-Encoding", name}},
               bomb_of(' ')),
          name + " as parameters");
    }
    const Response blank =
        send("PUT", "/api/v4/insert_rows",
             {{"X-YT-Parameters", R"({"path":"//t"})"}, {"Content-Encoding", name}}, bomb_of(' '));
    EXPECT_EQ(blank.status, 200u) << blank.body;
    EXPECT_NE(result("lookup_rows", R"({"path":"//t"})", "{k=77}"), "");
    result("delete_rows", R"({"path":"//t"})", "{k=77}");
  }
}

TEST_F(Attacks, ABatchThatIsTooLong) {
  std::string requests = "{requests=[";
  for (int i = 0; i < 20'000; ++i) requests += "{};";
  expect_refused(send("POST", "/api/v4/execute_batch",
                      {{"Content-Type", "application/x-yt-yson-text"}}, requests + "]}"),
                 "batch");
}

// The same name, as often as fits.
TEST_F(Attacks, NamesThatRepeatWithoutEnd) {
  std::string names;
  std::string columns;
  std::string keys;
  for (int i = 0; i < 1'000'000; ++i) names += "v;";
  for (int i = 0; i < 200'000; ++i) columns += "v=1;";
  for (int i = 0; i < 50'000; ++i) keys += "{k=1};";
  const Headers yson = {{"Content-Type", "application/x-yt-yson-text"}};
  result("insert_rows", R"({"path":"//t"})", "{k=1;v=a}");
  result("freeze_table", R"({"path":"//t"})");
  result("unfreeze_table", R"({"path":"//t"})");
  result("set", R"({"path":"//tmp/doc"})", "5");
  const auto post = [&](const char* command, const std::string& body) {
    return send("POST", fmt::format("/api/v4/{}", command), yson, body);
  };
  EXPECT_EQ(post("lookup_rows", "{path=\"//t\";column_names=[" + names + "]}").status, 200u);
  expect_refused(post("lookup_rows", "{path=\"//t\";column_names=[none;" + names + "]}"), "none");
  EXPECT_EQ(post("read_table", "{path=<columns=[" + names + "]>\"//t\"}").body,
            "{\"v\"=\"a\";};\n");
  EXPECT_EQ(post("get", "{path=\"//tmp\";attributes=[" + names + "]}").status, 200u);
  expect_refused(post("get", "{path=\"//tmp\";prerequisite_transaction_ids=[" + names + "]}"),
                 "prerequisites");
  expect_refused(post("insert_rows", "{path=\"//t\";" + columns + "}"), "parameters");
  expect_refused(call("insert_rows", R"({"path":"//t"})", "{k=1;" + columns + "}"), "a row");
  const Response found = call("lookup_rows", R"({"path":"//t"})", keys);
  EXPECT_EQ(found.status, 200u);
  EXPECT_GT(found.body.size(), 50'000u * 8);
  expect_refused(post("create", "{type=table;path=\"//tmp/n\";attributes={dynamic=%true;schema=[" +
                                    names + "]}}"),
                 "a schema");
  expect_refused(post("mount_table", "{path=\"//t\";path=\"//t\"}"), "a key twice");
  expect_alive();
}

TEST_F(Attacks, QueriesThatAreTooDeepOrTooLong) {
  std::string deep;
  std::string sum = "k";
  std::string list = "0";
  for (int i = 0; i < 10'000; ++i) deep += '(';
  for (int i = 0; i < 100'000; ++i) {
    sum += "+k";
    list += ",1";
  }
  const std::string from = " from [//t]";
  for (const std::string& query :
       {deep + "k" + std::string(10'000, ')') + from, deep + from, "k" + from + " where " + deep,
        std::string(10'000, '-') + "k" + from, sum + from, std::string(2 << 20, ' ') + "k" + from,
        "99999999999999999999999999" + from, "1e999999 as x" + from, "k" + from + " limit -1",
        "k" + from + " limit 99999999999999999999", "\"" + from,
        "k from [" + std::string(20'000, '/'), std::string("\0", 1)}) {
    std::string quoted;
    for (const char c : query) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    const Response response =
        send("POST", "/api/v4/select_rows", {{"Content-Type", "application/x-yt-yson-text"}},
             "{query=\"" + quoted + "\"}");
    expect_refused(response, query.substr(0, 30));
    EXPECT_LT(response.body.size(), 100'000u) << query.substr(0, 30);
  }
  const Response in =
      send("POST", "/api/v4/select_rows", {{"Content-Type", "application/x-yt-yson-text"}},
           "{query=\"k from [//t] where k in (" + list + ")\"}");
  EXPECT_EQ(in.status, 200u) << in.body.substr(0, 200);
  expect_alive();
}

TEST_F(Attacks, TransactionsLocksAndLinksHaveBounds) {
  // More transactions than there may be, in one request, and none ends.
  std::string starts = R"({"requests":[)";
  for (int i = 0; i < 10'100; ++i) starts += R"({"command":"start_transaction"},)";
  starts.back() = ']';
  const Headers json = {{"Content-Type", "application/json"}};
  const Response started = send("POST", "/api/v4/execute_batch", json, starts + "}");
  EXPECT_EQ(started.status, 200u);
  EXPECT_NE(started.body.find("transactions are open already"), std::string::npos);
  EXPECT_NE(error("start_transaction", "{}").find("transactions are open already"),
            std::string::npos);
  expect_alive();
  node_.world().run_for(120s);
  const auto begin = [&](const std::string& parent) {
    const std::string parameters =
        parent.empty() ? "{}" : R"({"transaction_id":")" + parent + "\"}";
    const Response made = call("start_transaction", parameters);
    const std::size_t at = made.body.find(":\"");
    if (made.status != 200) return std::string();
    return made.body.substr(at + 2, made.body.find('"', at + 2) - at - 2);
  };
  std::string last = begin("");
  ASSERT_NE(last, "") << "those without pings are over";
  int depth = 1;
  for (std::string next; depth < 64 && !(next = begin(last)).empty(); ++depth) last = next;
  EXPECT_EQ(depth, 30);
  expect_refused(call("start_transaction", R"({"transaction_id":")" + last + "\"}"), "too deep");
  std::string locks = R"({"requests":[)";
  for (int i = 0; i < 3'100; ++i) {
    locks += fmt::format(R"({{"command":"lock","parameters":{{"path":"//tmp","mode":"shared",)"
                         R"("child_key":"c{}","transaction_id":"{}"}}}},)",
                         i, last);
  }
  locks.back() = ']';
  const Response locked = send("POST", "/api/v4/execute_batch", json, locks + "}");
  EXPECT_NE(locked.body.find("locks already"), std::string::npos);
  result("link", R"({"target_path":"//tmp/b","link_path":"//tmp/a","force":true})");
  result("link", R"({"target_path":"//tmp/a","link_path":"//tmp/b","force":true})");
  for (const char* path : {"//tmp/a", "//tmp/a/x", "//tmp/b/@type"}) {
    expect_refused(call("get", fmt::format(R"({{"path":"{}"}})", path)), path);
  }
  expect_alive();
}

TEST_F(Attacks, UsersWithLongNamesAreRefused) {
  EXPECT_EQ(
      send("GET", "/api/v4/get_current_user", {{"X-YT-User-Name", std::string(256, 'u')}}).status,
      200u);
  EXPECT_EQ(
      send("PUT", "/api/v4/start_transaction", {{"X-YT-User-Name", std::string(257, 'u')}}).status,
      401u);
}

TEST_F(Attacks, WhatAllRequestsHoldHasABound) {
  // Rows, documents and parameters that do not end.
  const std::string part(8 << 20, 'x');
  const std::vector<std::string> heads = {
      "PUT /api/v4/insert_rows?path=//t HTTP/1.1\r\nHost: h\r\nContent-Length: "
      "100000000\r\n\r\n{k=1;v=\"",
      "PUT /api/v4/lookup_rows?path=//t HTTP/1.1\r\nHost: h\r\nContent-Length: "
      "100000000\r\n\r\n{k=\"",
      "PUT /api/v4/set?path=//tmp/d HTTP/1.1\r\nHost: h\r\nContent-Length: 15000000\r\n\r\n\"",
      "POST /api/v4/get HTTP/1.1\r\nHost: h\r\nContent-Length: 15000000\r\n\r\n\""};
  std::vector<std::shared_ptr<ByteStream>> clients;
  for (int i = 0; i < 80; ++i) {
    auto [client, server] = make_sim_streams(node_.world().executor(), node_.lane(0));
    connections_.spawn(serve(0, std::move(server)));
    connections_.spawn(write(client, heads[static_cast<std::size_t>(i) % heads.size()] + part));
    clients.push_back(std::move(client));
    node_.world().run_for(100ms);
    EXPECT_LE(door_->input_bytes(), kRequestBytesMax);
  }
  EXPECT_GT(door_->input_bytes(), kRequestBytesMax - 2 * part.size());
  expect_alive();
  EXPECT_EQ(result("insert_rows", R"({"path":"//t"})", "{k=5;v=a}"), "") << "small ones are served";
  EXPECT_EQ(result("get", R"({"path":"//tmp/@type"})"), R"({"value":"map_node"})");
  for (const auto& client : clients) client->close();
  node_.world().run_for(1s);
  EXPECT_EQ(door_->input_bytes(), 0u);
}

TEST_F(Attacks, ChangesOfOpenTransactionsHaveABound) {
  std::string rows;
  for (int i = 0; i < 4; ++i)
    rows += fmt::format("{{k={};v=\"{}\"}};", i, std::string(15 << 20, 'x'));
  std::vector<std::string> open;
  Response last;
  for (int i = 0; i < 12; ++i) {
    const std::string made = result("start_transaction", R"({"type":"tablet","timeout":3600000})");
    const std::size_t at = made.find(":\"") + 2;
    open.push_back(made.substr(at, made.find('"', at) - at));
    last = call("insert_rows",
                fmt::format(R"({{"path":"//t","transaction_id":"{}"}})", open.back()), rows);
    EXPECT_LE(door_->input_bytes(), kRequestBytesMax);
    if (last.status != 200) break;
  }
  expect_refused(last, "more changes than there may be");
  EXPECT_NE(last.body.find("\"code\":108"), std::string::npos) << last.body.substr(0, 200);
  EXPECT_GE(open.size(), 7u);
  expect_alive();
  for (const std::string& id : open) {
    result("abort_transaction", fmt::format(R"({{"transaction_id":"{}"}})", id));
  }
  EXPECT_EQ(door_->input_bytes(), 0u);
}

TEST_F(Attacks, ABodyInChunksOfOneByte) {
  std::string text =
      "PUT /api/v4/insert_rows?path=//t HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
      "Transfer-Encoding: chunked\r\n\r\n";
  for (int row = 0; row < 2'000; ++row) {
    for (const char c : fmt::format("{{k={};v=a}};", row))
      text += fmt::format("1;x=y\r\n{}\r\n", c);
  }
  EXPECT_EQ(parse_response(exchange(text + "0\r\n\r\n")).status, 200u);
  EXPECT_NE(result("lookup_rows", R"({"path":"//t"})", "{k=1999}"), "");
}

TEST_F(Attacks, RowsOfWideTables) {
  TableSchema schema = small_schema();
  schema.columns.resize(1);
  std::string row = "{k=1;";
  for (int i = 0; i < 1'000; ++i) {
    schema.columns.push_back({.name = fmt::format("c{}", i), .type = ColumnType::kInt64});
    row += fmt::format("c{}={};", 999 - i, i);
  }
  create_table("wide", schema);
  result("insert_rows", R"({"path":"//wide"})", row + "};");
  std::string keys;
  for (int i = 0; i < 9'000; ++i) keys += fmt::format("{{k={}}};", i);
  const Response found =
      call("lookup_rows", R"({"path":"//wide","column_names":["k","c0"]})", keys);
  EXPECT_EQ(found.body, "{\"k\"=1;\"c0\"=999;};\n");
  EXPECT_GT(call("lookup_rows", R"({"path":"//wide"})", keys).body.size(), 8'000u);
  const Response versions = call("lookup_rows", R"({"path":"//wide","versioned":true})", keys);
  EXPECT_GT(versions.body.size(), 40'000u) << versions.body.substr(0, 300);
}

TEST_F(Attacks, AHeaderThatIsTooLong) {
  Headers many;
  for (int i = 0; i < 300; ++i) many.emplace_back(fmt::format("X-{}", i), "1");
  EXPECT_EQ(send("GET", "/api/v4/get_current_user", many).status, 431u);

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

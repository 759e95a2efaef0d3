#include "gateway/http/request_parser.h"

#include <gtest/gtest.h>

namespace moraine::http {
namespace {

// Feeds `text` in steps of `step` bytes; what a step leaves is fed again with the next one.
struct Fed {
  explicit Fed(std::string_view text, std::size_t step = 1) {
    std::string ahead;
    for (std::size_t at = 0; at < text.size() && !refused && !parser.done();) {
      const std::size_t more = std::min(step, text.size() - at);
      ahead += text.substr(at, more);
      at += more;
      while (!ahead.empty() && !parser.done()) {
        const auto taken = parser.feed(as_bytes(ahead));
        if (!taken) {
          refused = taken.error();
          break;
        }
        body += as_text(parser.body());
        ahead.erase(0, *taken);
        if (*taken == 0) break;
      }
    }
    left = ahead;
  }

  RequestParser parser;
  std::string body;
  std::string left;
  std::optional<Refusal> refused;
};

TEST(RequestParser, TakesARequestInPiecesOfAnySize) {
  const std::string text =
      "PUT /a%20b?c=d HTTP/1.1\r\nHost: x\r\nX-Name:  some value \r\ncontent-length: "
      "5\r\n\r\nhello";
  for (const std::size_t step : {1, 2, 7, 1000}) {
    Fed fed(text, step);
    ASSERT_FALSE(fed.refused) << fed.refused->reason;
    ASSERT_TRUE(fed.parser.done());
    EXPECT_EQ(fed.parser.content_length(), 5u);
    EXPECT_TRUE(fed.parser.keep_alive());
    const Request request = fed.parser.take_request();
    EXPECT_EQ(request.method, "PUT");
    EXPECT_EQ(request.target.path, "/a b");
    ASSERT_NE(request.fields.find("x-name"), nullptr);
    EXPECT_EQ(*request.fields.find("x-name"), "some value");
    EXPECT_EQ(fed.body, "hello");
  }
}

TEST(RequestParser, TakesABodyInChunks) {
  const std::string text =
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;note=x\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\nX-Sum: 7\r\n\r\n";
  for (const std::size_t step : {1, 3, 1000}) {
    Fed fed(text, step);
    ASSERT_FALSE(fed.refused) << fed.refused->reason;
    EXPECT_TRUE(fed.parser.done());
    EXPECT_EQ(fed.body, "hello world");
  }
}

TEST(RequestParser, StopsBehindTheRequest) {
  Fed fed("GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n", 1000);
  EXPECT_TRUE(fed.parser.done());
  EXPECT_EQ(fed.left, "GET /b HTTP/1.1\r\nHost: a\r\n\r\n");
}

TEST(RequestParser, RefusesWhatIsNoRequestAndSaysWhy) {
  const std::string long_line =
      "GET /" + std::string(kHeaderBytesMax, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string long_fields =
      "GET / HTTP/1.1\r\nHost: a\r\nA: " + std::string(kHeaderBytesMax, 'a') + "\r\n\r\n";
  const std::vector<std::pair<std::string, unsigned>> cases = {
      {"\x16\x03\x01\x02\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 400},
      {"GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", 400},
      {"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET / HTTP/2.0\r\n\r\n", 505},
      {"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
       400},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {long_line, 431},
      {long_fields, 431},
  };
  for (const auto& [text, status] : cases) {
    Fed fed(text, 1000);
    ASSERT_TRUE(fed.refused) << text.substr(0, 80);
    EXPECT_EQ(fed.refused->status, status) << text.substr(0, 80) << fed.refused->reason;
    EXPECT_FALSE(fed.refused->reason.empty());
  }
}

TEST(RequestParser, TheBytesOfFieldsAreCountedTogether) {
  std::string text = "GET / HTTP/1.1\r\nHost: a\r\n";
  const std::string field = "A: " + std::string(2 * kHeaderBytesMax / kFieldsMax, 'b') + "\r\n";
  while (text.size() <= kHeaderBytesMax) text += field;
  Fed fed(text + "\r\n", 100);
  ASSERT_TRUE(fed.refused);
  EXPECT_EQ(fed.refused->status, 431u);
  EXPECT_TRUE(fed.refused->reason.contains("bytes")) << fed.refused->reason;
}

TEST(RequestParser, KnowsWhetherTheConnectionIsKeptAlive) {
  EXPECT_TRUE(Fed("GET / HTTP/1.1\r\nHost: a\r\n\r\n").parser.keep_alive());
  EXPECT_FALSE(Fed("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").parser.keep_alive());
  EXPECT_FALSE(Fed("GET / HTTP/1.0\r\n\r\n").parser.keep_alive());
  EXPECT_TRUE(Fed("GET / HTTP/1.0\r\n\r\n").parser.is_http_1_0());
  EXPECT_TRUE(Fed("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").parser.keep_alive());
}

TEST(Fields, NamesAndWordsAreFoundInAnyCase) {
  Fields fields;
  fields.add("Connection", "keep-alive, Upgrade");
  fields.add("CONNECTION", " x ");
  EXPECT_TRUE(fields.has_word("connection", "upgrade"));
  EXPECT_TRUE(fields.has_word("connection", "X"));
  EXPECT_FALSE(fields.has_word("connection", "keep"));
  EXPECT_EQ(*fields.find("connection"), "keep-alive, Upgrade");
  EXPECT_EQ(fields.find("none"), nullptr);
}

TEST(RequestParser, RefusesTooManyFields) {
  std::string text = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (std::size_t i = 1; i < kFieldsMax; ++i) text += "a:\r\n";
  Fed fits(text + "\r\n");
  EXPECT_FALSE(fits.refused);
  EXPECT_TRUE(fits.parser.done());
  EXPECT_EQ(fits.parser.take_request().fields.all().size(), kFieldsMax);
  Fed more(text + "a:\r\n\r\n");
  ASSERT_TRUE(more.refused);
  EXPECT_EQ(more.refused->status, 431u);
  EXPECT_EQ(more.refused->reason, "the request has more than 256 fields");
}

}  // namespace
}  // namespace moraine::http

// The HTTP server, tested through a client.

#include <fmt/format.h>

#include "gateway/http/http_test_util.h"
#include "gateway/http/request_parser.h"
#include "io/event.h"

namespace moraine::http {
namespace {

// Answers with the request.
Task<void> echo(Exchange& exchange) {
  const Result<Slice> body = co_await exchange.read_all(1 << 20);
  Reply reply = text_reply(200, "");
  if (!body) {
    reply = text_reply(400, body.error().message());
  } else {
    const Target& target = exchange.request().target;
    std::string text = fmt::format("{} {}", exchange.request().method, target.path);
    for (const auto& [name, value] : target.query) text += fmt::format(" {}={}", name, value);
    text += fmt::format(" [{}]", body->text());
    reply = text_reply(200, text);
  }
  std::ignore = co_await exchange.reply(std::move(reply));
}

Task<void> stream_three(Exchange& exchange) {
  Head head;
  head.fields.add("Trailer", "X-Sum");
  std::ignore = co_await exchange.begin(std::move(head));
  for (const char* word : {"one", "", "three"}) {
    std::ignore = co_await exchange.write(Slice::copy_of(std::string_view(word)));
  }
  Fields trailers;
  trailers.add("X-Sum", "8");
  std::ignore = co_await exchange.end(std::move(trailers));
}

// Never reads the body.
Task<void> ignore_body(Exchange& exchange) {
  Reply reply = text_reply(200, "done");
  std::ignore = co_await exchange.reply(std::move(reply));
}

Task<void> give_nothing(Exchange&) {
  co_return;
}

Task<void> stop_half_way(Exchange& exchange) {
  Head head;
  std::ignore = co_await exchange.begin(std::move(head));
  std::ignore = co_await exchange.write(Slice::copy_of(std::string_view("part")));
}

std::size_t count_of(const std::string& text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

TEST_F(HttpTest, ARequestGetsItsAnswer) {
  serve(echo);
  const std::string got = answer("GET /a%2Fb?x=1&y=%26 HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(got.starts_with("HTTP/1.1 200 OK\r\n")) << got;
  EXPECT_TRUE(got.contains("Content-Type: text/plain; charset=utf-8\r\n")) << got;
  EXPECT_TRUE(got.contains("Content-Length: 19\r\n")) << got;
  EXPECT_TRUE(got.ends_with("\r\n\r\nGET /a/b x=1 y=& []")) << got;
}

TEST_F(HttpTest, RequestsSentAheadAreAnsweredInTheirOrder) {
  serve(echo);
  std::string text;
  for (int i = 0; i < 20; ++i) {
    text += fmt::format("POST /{} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{:02}", i, i);
    if (i % 3 == 0) text += "\r\n";  // An extra line break.
  }
  for (const std::size_t step : {1, 5, 1 << 20}) {
    streams_.read_bytes_max = step;
    const std::string got = answer(text);
    EXPECT_EQ(count_of(got, "HTTP/1.1 200"), 20u);
    std::size_t at = 0;
    for (int i = 0; i < 20; ++i) {
      const std::size_t found = got.find(fmt::format("POST /{} [{:02}]", i, i));
      ASSERT_NE(found, std::string::npos) << i;
      EXPECT_GE(found, at);
      at = found;
    }
  }
}

TEST_F(HttpTest, AChunkedBodyIsRead) {
  serve(echo);
  const std::string got = answer(
      "PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(got.contains("PUT /x [abcdefg]")) << got;
  EXPECT_TRUE(got.contains("GET /next []")) << got;
}

TEST_F(HttpTest, ALongBodyPassesAndATooLongOneIsRefused) {
  serve(echo);
  const std::string fits(1 << 20, 'x');
  EXPECT_TRUE(answer(fmt::format("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{}",
                                 fits.size(), fits))
                  .contains(fits));
  const std::string more(3 << 20, 'x');
  const std::string got = answer(
      fmt::format("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{}", more.size(), more));
  EXPECT_TRUE(got.starts_with("HTTP/1.1 400")) << got.substr(0, 200);
  EXPECT_TRUE(got.contains("more than 1048576 bytes")) << got.substr(0, 400);
}

TEST_F(HttpTest, AHeaderMayComeLineByLineAndByteByByte) {
  serve(echo);
  const std::string request = "GET /x HTTP/1.1\r\nHost: here\r\nAccept: all\r\n\r\n";
  Client& lines = connect();
  for (const char* line : {"GET /x HTTP/1.1\r\n", "Host: here\r\n", "Accept: all\r\n"}) {
    send(lines, line);
    EXPECT_EQ(lines.got, "");
  }
  send(lines, "\r\n");
  EXPECT_TRUE(lines.got.contains("GET /x")) << lines.got;
  Client& bytes = connect();
  for (const char byte : request) send(bytes, std::string(1, byte));
  EXPECT_TRUE(bytes.got.contains("GET /x")) << bytes.got;
  // Line breaks before a request are left out, however they arrive.
  for (const char* part : {"\r\n", "\r", "\n\r\n"}) send(bytes, part);
  send(bytes, request);
  EXPECT_EQ(count_of(bytes.got, "GET /x"), 2u) << bytes.got;
}

TEST_F(HttpTest, ABodyInPartsOfOneByteIsRead) {
  serve(echo);
  std::string body;
  for (int i = 0; i < 100'000; ++i) body += "1\r\nx\r\n";
  const std::string got = answer(
      "PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body + "0\r\n\r\n");
  EXPECT_TRUE(got.contains(std::string(100'000, 'x'))) << got.substr(0, 300);
}

TEST_F(HttpTest, TrailersWithoutAnEndAreRefused) {
  serve(echo);
  Client& client = connect();
  send(client, "PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n");
  std::string trailers;
  for (int i = 0; i < 100; ++i) trailers += fmt::format("a{}: b\r\n", i);
  for (int i = 0; i < 200 && !client.ended; ++i) send(client, trailers);
  EXPECT_TRUE(client.ended);
  EXPECT_TRUE(client.got.starts_with("HTTP/1.1 400")) << client.got;
}

TEST_F(HttpTest, HeadGetsNoBody) {
  serve(echo);
  const std::string got =
      answer("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\nGET /y HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_FALSE(got.contains("HEAD /x")) << got;
  EXPECT_TRUE(got.contains("Content-Length: 10\r\n")) << got;
  EXPECT_TRUE(got.contains("GET /y")) << got;
}

TEST_F(HttpTest, AnAnswerOfUnknownLengthComesInChunks) {
  serve(stream_three);
  const std::string got = answer("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(got.contains("Transfer-Encoding: chunked\r\n")) << got;
  EXPECT_TRUE(got.ends_with("\r\n\r\n3\r\none\r\n5\r\nthree\r\n0\r\nX-Sum: 8\r\n\r\n")) << got;
}

TEST_F(HttpTest, AClientOfVersionOneZeroGetsItUntilTheEnd) {
  serve(stream_three);
  Client& client = connect();
  send(client, "GET / HTTP/1.0\r\n\r\n");
  world_.run_for(1s);
  EXPECT_FALSE(client.got.contains("chunked")) << client.got;
  EXPECT_TRUE(client.got.contains("Connection: close\r\n")) << client.got;
  EXPECT_TRUE(client.got.ends_with("\r\n\r\nonethree")) << client.got;
  EXPECT_TRUE(client.ended);
}

TEST_F(HttpTest, TheConnectionEndsWhenTheClientAsksForIt) {
  serve(echo);
  Client& client = connect();
  send(client, "GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  world_.run_for(1s);
  EXPECT_TRUE(client.got.contains("Connection: close\r\n")) << client.got;
  EXPECT_TRUE(client.ended);
}

TEST_F(HttpTest, WhatIsNoHttpIsRefusedWithTheReason) {
  serve(echo);
  Client& client = connect();
  send(client, "hello world\r\n\r\n");
  world_.run_for(1s);
  EXPECT_TRUE(client.got.starts_with("HTTP/1.1 400 Bad Request\r\n")) << client.got;
  EXPECT_TRUE(client.got.contains("not a valid HTTP request")) << client.got;
  EXPECT_TRUE(client.ended);
  EXPECT_TRUE(
      answer("GET / HTTP/1.1\r\nHost: a\r\nA: " + std::string(kHeaderBytesMax, 'a') + "\r\n\r\n")
          .starts_with("HTTP/1.1 431"));
}

TEST_F(HttpTest, ABodyIsAskedForWhenTheHandlerWantsIt) {
  serve(echo);
  Client& client = connect();
  send(client, "PUT /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.got, "HTTP/1.1 100 Continue\r\n\r\n");
  send(client, "ok");
  EXPECT_TRUE(client.got.contains("PUT /x [ok]")) << client.got;
}

TEST_F(HttpTest, AnUnreadBodyIsDroppedOrEndsTheConnection) {
  serve(ignore_body);
  const std::string little(1000, 'x');
  const std::string after = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  EXPECT_EQ(
      count_of(answer(fmt::format("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{}{}",
                                  little, after)),
               "done"),
      2u);
  const std::string much(1 << 20, 'x');
  EXPECT_EQ(
      count_of(answer(fmt::format("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{}{}",
                                  much.size(), much, after)),
               "done"),
      1u);
  // A client that waits for "100 Continue" does not get it.
  Client& waiting = connect();
  send(waiting, "PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_FALSE(waiting.got.contains("100 Continue")) << waiting.got;
  EXPECT_TRUE(waiting.ended);
}

TEST_F(HttpTest, AnUnreadBodyThatComesSlowlyEndsTheConnection) {
  serve(ignore_body);
  Client& client = connect();
  send(client, "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
  EXPECT_TRUE(client.got.contains("done"));
  for (int i = 0; i < 4; ++i) {
    send(client, "x");
    world_.run_for(30s);
  }
  EXPECT_TRUE(client.ended);
}

TEST_F(HttpTest, AHandlerThatGivesNothingIsAServerError) {
  serve(give_nothing);
  EXPECT_TRUE(answer("GET / HTTP/1.1\r\nHost: a\r\n\r\n").starts_with("HTTP/1.1 500 "));
}

TEST_F(HttpTest, AHandlerThatStopsHalfWayLeavesABrokenAnswer) {
  serve(stop_half_way);
  Client& client = connect();
  send(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  world_.run_for(1s);
  EXPECT_TRUE(client.got.ends_with("4\r\npart\r\n")) << "no last chunk: " << client.got;
  EXPECT_TRUE(client.ended);
}

TEST_F(HttpTest, SlowClientsAreClosed) {
  HttpOptions options;
  options.idle_timeout = 100s;
  serve(echo, options);
  Client& idle = connect();
  Client& slow_header = connect();
  Client& slow_body = connect();
  send(slow_header, "GET / HT");
  send(slow_body, "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
  world_.run_for(29s);
  EXPECT_FALSE(slow_header.ended);
  world_.run_for(2s);
  EXPECT_TRUE(slow_header.ended);
  EXPECT_FALSE(slow_body.ended);
  world_.run_for(30s);
  EXPECT_TRUE(slow_body.ended);
  EXPECT_FALSE(idle.ended);
  world_.run_for(40s);
  EXPECT_TRUE(idle.ended);
}

constexpr std::size_t kLong = 8 << 20;

Task<void> answer_at_length(Exchange& exchange) {
  const std::string much(kLong, 'x');
  Reply reply = text_reply(200, much);
  std::ignore = co_await exchange.reply(std::move(reply));
}

TEST_F(HttpTest, AClientThatDoesNotReadItsAnswerIsClosed) {
  serve(answer_at_length);
  Client& client = connect(false);
  send(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(service_->connections(), 1u);
  world_.run_for(59s);
  EXPECT_EQ(service_->connections(), 1u);
  world_.run_for(2s);
  EXPECT_EQ(service_->connections(), 0u);
}

class HttpRoomTest : public HttpTest {
 protected:
  // Serves answers for which `room` is taken, from a budget of `most`. Counts the handler's calls.
  void serve_with_room(std::size_t most, std::size_t room, HttpHandler handler) {
    answers_ = std::make_unique<AnswerBudget>(most);
    HttpOptions options;
    options.answer_room = [room](const Request&) { return room; };
    serve(
        [this, handler = std::move(handler)](Exchange& exchange) {
          ++handled_;
          return handler(exchange);
        },
        options);
  }
  std::string get(bool reads = true, std::string_view method = "GET") {
    Client& client = connect(reads);
    send(client, fmt::format("{} / HTTP/1.1\r\nHost: a\r\n\r\n", method));
    return client.got;
  }
  static bool busy(const std::string& got) {
    return got.starts_with("HTTP/1.1 503 ") && got.contains("Retry-After: 1\r\n");
  }

  std::size_t handled_ = 0;
};

TEST_F(HttpRoomTest, AnswersThatNobodyReadsAreBoundedBeforeTheyAreMade) {
  serve_with_room(2 * kLong + kLong / 2, kLong, answer_at_length);
  for (int i = 0; i < 2; ++i) get(false);
  EXPECT_EQ(answers_->bytes(), 2 * kLong);
  Client& third = connect();
  send(third, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(busy(third.got)) << third.got.substr(0, 200);
  EXPECT_EQ(handled_, 2u);
  world_.run_for(61s);  // The other two are closed.
  EXPECT_EQ(answers_->bytes(), 0u);
  send(third, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  world_.run_for(10s);
  EXPECT_TRUE(third.got.contains("HTTP/1.1 200 "));
}

TEST_F(HttpRoomTest, AnAnswerTakesItsRoomWhileItIsMade) {
  Event made(world_.executor());
  const auto slow = [&made](Exchange& exchange) -> Task<void> {
    co_await made.wait();
    co_await answer_at_length(exchange);
  };
  serve_with_room(3 * kLong, 2 * kLong, slow);
  get(false);
  EXPECT_EQ(answers_->bytes(), 2 * kLong);
  EXPECT_TRUE(busy(get()));
  EXPECT_EQ(handled_, 1u);
  // Once it is made, its length is known.
  made.notify_all();
  world_.run_for(1s);
  EXPECT_EQ(answers_->bytes(), kLong);
  get(false);
  EXPECT_EQ(handled_, 2u);
  made.notify_all();
  world_.run_for(1s);
}

TEST_F(HttpRoomTest, WhatAHandlerHasDoneIsAnsweredHoweverLongItIs) {
  Event changed(world_.executor());
  const auto change = [&changed](Exchange& exchange) -> Task<void> {
    co_await changed.wait();
    co_await answer_at_length(exchange);
  };
  serve_with_room(kLong, 1'000, change);  // Far less than they answer then.
  std::vector<Client*> both{&connect(), &connect()};
  for (Client* client : both)
    send(*client, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  changed.notify_all();
  world_.run_for(10s);
  for (const Client* client : both) {
    EXPECT_TRUE(client->got.starts_with("HTTP/1.1 200 ")) << client->got.substr(0, 200);
  }
}

TEST_F(HttpRoomTest, AnAnswerThatStreamsCountsWhatIsNotSent) {
  constexpr std::size_t kPart = 1'000;
  const auto stream = [](Exchange& exchange) -> Task<void> {
    Head head;
    std::ignore = co_await exchange.begin(std::move(head));
    for (const std::size_t size : {std::size_t{10}, kLong}) {
      std::ignore = co_await exchange.write(Slice::copy_of(std::string(size, 'x')));
    }
    std::ignore = co_await exchange.end({});
  };
  serve_with_room(kLong + 1, kPart, stream);
  get(false);
  EXPECT_EQ(answers_->bytes(), kLong);
  EXPECT_TRUE(busy(get()));
  EXPECT_EQ(handled_, 1u);
  world_.run_for(61s);
  Client& reader = connect();
  send(reader, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  world_.run_for(10s);
  EXPECT_TRUE(reader.got.ends_with("0\r\n\r\n"));
  EXPECT_EQ(answers_->bytes(), 0u);
}

TEST_F(HttpRoomTest, WhatTakesNoRoomIsAnsweredWhenThereIsNone) {
  answers_ = std::make_unique<AnswerBudget>(1'000);
  HttpOptions options;
  options.answer_room = [](const Request& request) { return request.target.path == "/" ? 1 : 0; };
  const auto by_path = [](Exchange& exchange) -> Task<void> {
    return exchange.request().target.path == "/" ? answer_at_length(exchange) : echo(exchange);
  };
  serve(by_path, options);
  get(false);
  EXPECT_TRUE(busy(get()));
  EXPECT_TRUE(answer("GET /ping HTTP/1.1\r\nHost: a\r\n\r\n").ends_with("GET /ping []"));
}

TEST_F(HttpRoomTest, HeadCountsNoBody) {
  streams_.window = 16;  // So that even the head is not taken.
  serve_with_room(2 * kLong, kLong, answer_at_length);
  for (int i = 0; i < 4; ++i) get(false, "HEAD");
  EXPECT_EQ(handled_, 4u);
  EXPECT_EQ(answers_->bytes(), 0u);
  EXPECT_EQ(service_->connections(), 4u);
}

TEST_F(HttpRoomTest, ServicesShareABudget) {
  serve_with_room(kLong + kLong / 2, kLong, answer_at_length);
  const auto first = std::move(service_);
  serve(answer_at_length);
  get(false);
  EXPECT_EQ(answers_->bytes(), kLong);
  Client client{nullptr};
  auto [near, server] = make_sim_streams(world_.executor(), streams_);
  client.stream = std::move(near);
  tasks_.spawn(first->streams()(std::move(server)));
  tasks_.spawn(read_to_end(client.stream, client.got, client.ended));
  send(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(busy(client.got)) << client.got.substr(0, 200);
  EXPECT_EQ(handled_, 0u);
  client.stream->close();
  world_.run_for(1s);
  EXPECT_TRUE(client.ended);
}

TEST_F(HttpTest, ANewConnectionTakesThePlaceOfTheLongestIdleOne) {
  HttpOptions options;
  options.connections_max = 3;
  serve(echo, options);
  Client& first = connect();
  world_.run_for(1s);
  Client& second = connect();
  world_.run_for(1s);
  send(first, "GET /again HTTP/1.1\r\nHost: a\r\n\r\n");  // Now the second is idle for longer.
  Client& third = connect();
  world_.run_for(1s);
  Client& fourth = connect();
  send(fourth, "GET /new HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(fourth.got.contains("GET /new"));
  EXPECT_TRUE(second.ended);
  EXPECT_FALSE(first.ended);
  EXPECT_FALSE(third.ended);
}

TEST_F(HttpTest, WithAllConnectionsBusyANewOneIsTurnedAway) {
  HttpOptions options;
  options.connections_max = 2;
  serve(echo, options);
  for (int i = 0; i < 2; ++i)
    send(connect(), "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
  Client& third = connect();
  world_.run_for(1s);
  EXPECT_TRUE(third.got.starts_with("HTTP/1.1 503 ")) << third.got;
  EXPECT_TRUE(third.ended);
}

TEST_F(HttpTest, ANewConnectionTakesThePlaceOfOneWhoseRequestComesSlowly) {
  HttpOptions options;
  options.connections_max = 3;
  serve(echo, options);
  const std::string body = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n";
  Client& header = connect();
  send(header, "PUT / HT");
  Client& first = connect();
  send(first, body);
  Client& second = connect();
  send(second, body);
  for (int i = 0; i < 6; ++i) {
    send(first, "x");
    send(second, "x");
    world_.run_for(1s);
  }
  Client& fourth = connect();
  send(fourth, "GET /new HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(fourth.got.contains("GET /new")) << fourth.got;
  EXPECT_TRUE(header.ended) << "its request began first";
  Client& fifth = connect();
  send(fifth, "GET /new HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(fifth.got.contains("GET /new")) << fifth.got;
  EXPECT_TRUE(fourth.ended) << "idle ones are closed before slow ones";
  EXPECT_FALSE(first.ended);
  Client& sixth = connect();
  send(sixth, "PUT /six HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na");
  EXPECT_TRUE(fifth.ended);
  Client& seventh = connect();
  send(seventh, body);
  EXPECT_TRUE(first.ended);
  EXPECT_FALSE(second.ended);
  send(sixth, "b");
  EXPECT_TRUE(sixth.got.contains("PUT /six [ab]")) << sixth.got;
}

TEST_F(HttpTest, ALineBreakInAFieldDoesNotBecomeAnotherField) {
  serve([](Exchange& exchange) -> Task<void> {
    Reply reply = text_reply(200, "x");
    reply.head.fields.add("X-Name", "a\r\nSet-Cookie: b");
    std::ignore = co_await exchange.reply(std::move(reply));
  });
  const std::string got = answer("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(got.contains("X-Name: a  Set-Cookie: b\r\n")) << got;
}

}  // namespace
}  // namespace moraine::http

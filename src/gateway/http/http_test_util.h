// An HttpService with a client over simulated streams. For tests.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "gateway/http/service.h"
#include "io/sim/sim_stream.h"
#include "io/sim/sim_world.h"
#include "io/sync.h"

namespace moraine::http {

inline Task<void> write_text(std::shared_ptr<ByteStream> stream, std::string text) {
  std::vector<Slice> slices;
  slices.push_back(Slice::copy_of(text));
  std::ignore = co_await stream->write(std::move(slices));
}

// Appends all bytes until the stream ends.
inline Task<void> read_to_end(std::shared_ptr<ByteStream> stream, std::string& into, bool& ended) {
  Buffer buffer(4096);
  for (;;) {
    const Result<std::size_t> got = co_await stream->read(buffer.span());
    if (!got || *got == 0) break;
    into += as_text(ByteSpan(buffer.data(), *got));
  }
  ended = true;
}

class HttpTest : public testing::Test {
 protected:
  // A client that reads all bytes.
  struct Client {
    std::shared_ptr<ByteStream> stream;
    std::string got{};
    bool ended = false;
  };

  ~HttpTest() override {
    for (const auto& client : clients_) client->stream->close();
    world_.run(wait_for(tasks_));
    EXPECT_EQ(service_ ? service_->connections() : 0, 0u);
    EXPECT_EQ(answers_->bytes(), 0u);
    clients_.clear();
    world_.shutdown();
  }

  void serve(HttpHandler handler, HttpOptions options = {}) {
    service_ = std::make_unique<HttpService>(world_.executor(), registry_, *answers_,
                                             std::move(handler), options);
  }
  Client& connect(bool reads = true) {
    auto [client, server] = make_sim_streams(world_.executor(), streams_);
    clients_.push_back(std::make_unique<Client>(Client{std::move(client)}));
    Client& made = *clients_.back();
    tasks_.spawn(service_->streams()(std::move(server)));
    if (reads) tasks_.spawn(read_to_end(made.stream, made.got, made.ended));
    return made;
  }
  void send(Client& client, std::string text) {
    tasks_.spawn(write_text(client.stream, std::move(text)));
    world_.run_for(10ms);
  }
  // All bytes of the answer within a while.
  std::string answer(std::string text) {
    Client& client = connect();
    send(client, std::move(text));
    world_.run_for(1s);
    return client.got;
  }
  static Task<void> wait_for(TaskScope& scope) { co_await scope.join(); }

  SimWorld world_{7};
  SimStreamOptions streams_;
  MetricRegistry registry_;
  std::unique_ptr<AnswerBudget> answers_ =
      std::make_unique<AnswerBudget>(std::numeric_limits<std::size_t>::max());
  std::unique_ptr<HttpService> service_;
  TaskScope tasks_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace moraine::http

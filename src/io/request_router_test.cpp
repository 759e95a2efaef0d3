#include "io/request_router.h"

#include <gtest/gtest.h>

#include "io/sim/sim_world.h"

namespace moraine {
namespace {

Slice bytes(std::string_view text) {
  return Slice::copy_of(as_bytes(text));
}

RequestHandler answers(std::string text) {
  return [text](NodeId, Slice) -> Task<Slice> { co_return bytes(text); };
}

class RequestRouterTest : public testing::Test {
 protected:
  ~RequestRouterTest() override { sim_.shutdown(); }
  std::string ask(std::string_view request) {
    const auto reply = sim_.run(
        client_.world().network.call(server_.id(), bytes(request), sim_.executor().now() + 1s));
    return reply ? std::string(as_text(*reply)) : reply.error().message();
  }
  SimWorld sim_{5};
  SimNode& server_ = sim_.add_node();
  SimNode& client_ = sim_.add_node();
};

TEST_F(RequestRouterTest, GivesARequestToThePortOfItsFirstByte) {
  RequestRouter router(server_.world().network);
  router.port('T').serve(answers("tables"));
  router.rest().serve(answers("the rest"));
  EXPECT_EQ(ask("T1"), "tables");
  EXPECT_EQ(ask("U1"), "the rest");
  EXPECT_EQ(ask(""), "the rest");
  router.port('T').serve(nullptr);
  EXPECT_EQ(ask("T1"), "");
}

TEST_F(RequestRouterTest, AnswersNothingOnceItHasEnded) {
  {
    RequestRouter router(server_.world().network);
    router.rest().serve(answers("the rest"));
    EXPECT_EQ(ask("x"), "the rest");
  }
  EXPECT_EQ(ask("x"), "");
}

TEST_F(RequestRouterTest, CallsAsTheNetworkBelowDoes) {
  RequestRouter router(server_.world().network);
  RequestRouter other(client_.world().network);
  router.port('T').serve(answers("tables"));
  Network& port = other.port('T');
  EXPECT_EQ(port.self(), client_.id());
  const auto reply = sim_.run(port.call(server_.id(), bytes("T"), sim_.executor().now() + 1s));
  ASSERT_TRUE(reply);
  EXPECT_EQ(as_text(*reply), "tables");
}

}  // namespace
}  // namespace moraine

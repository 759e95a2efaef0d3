#include "io/sim/sim_stream.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/sim/sim_executor.h"

namespace moraine {
namespace {

Task<void> read_all(std::shared_ptr<ByteStream> stream, std::string& got, bool& ended) {
  while (true) {
    Buffer buffer(7);
    const auto read = co_await stream->read(buffer.span());
    if (!read || *read == 0) {
      ended = read.has_value();
      co_return;
    }
    got += as_text(buffer.span().first(*read));
  }
}

Task<void> write_text(std::shared_ptr<ByteStream> stream, std::string text, Result<void>& outcome) {
  std::vector<Slice> pieces;
  pieces.push_back(Slice::copy_of(text));
  outcome = co_await stream->write(std::move(pieces));
}

Task<void> wait_readable(std::shared_ptr<ByteStream> stream, int& outcome) {
  const Result<void> ready = co_await stream->readable();
  outcome = ready ? 1 : -1;
}

TEST(SimStream, GivesWhatWasWrittenInOrderAndThenTheEnd) {
  SimExecutor executor;
  auto [one, two] = make_sim_streams(executor, {.window = 5, .read_bytes_max = 2});
  std::string got;
  bool ended = false;
  Result<void> outcome;
  spawn(read_all(two, got, ended));
  spawn(write_text(one, "the quick brown fox", outcome));
  executor.run_until_idle();
  EXPECT_TRUE(outcome);
  EXPECT_EQ(got, "the quick brown fox");
  EXPECT_FALSE(ended);
  one->close();
  executor.run_until_idle();
  EXPECT_TRUE(ended);
}

TEST(SimStream, AWriteWaitsForTheReaderAndEndsWithIt) {
  SimExecutor executor;
  auto [one, two] = make_sim_streams(executor, {.window = 4});
  Result<void> outcome;
  spawn(write_text(one, "more than four", outcome));
  executor.run_until_idle();
  two->close();
  executor.run_until_idle();
  EXPECT_EQ(outcome.error().code, Errc::kUnavailable);
}

TEST(SimStream, ReadableWaitsForBytesAndEndsWithTheStream) {
  SimExecutor executor;
  auto [one, two] = make_sim_streams(executor);
  int first = 0;
  spawn(wait_readable(two, first));
  executor.run_until_idle();
  EXPECT_EQ(first, 0);
  Result<void> outcome;
  spawn(write_text(one, "x", outcome));
  executor.run_until_idle();
  EXPECT_EQ(first, 1);
  int second = 0;
  spawn(wait_readable(one, second));
  one->close();
  executor.run_until_idle();
  EXPECT_EQ(second, -1);
}

}  // namespace
}  // namespace moraine

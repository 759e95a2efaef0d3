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

Task<void> write_once(std::shared_ptr<ByteStream> stream, std::vector<Slice> pieces,
                      std::size_t bytes_max, std::optional<Result<std::size_t>>& outcome) {
  outcome = co_await stream->write_some(pieces, bytes_max);
}

TEST(SimStream, WriteSomeTakesWhatFitsAndWaitsForRoom) {
  SimExecutor executor;
  auto [one, two] = make_sim_streams(executor, {.window = 5});
  const std::vector<Slice> pieces{Slice::copy_of("ab"), {}, Slice::copy_of("cdef")};
  std::optional<Result<std::size_t>> first;
  std::optional<Result<std::size_t>> second;
  std::optional<Result<std::size_t>> third;
  spawn(write_once(one, pieces, 3, first));
  spawn(write_once(one, pieces, 100, second));
  spawn(write_once(one, pieces, 100, third));
  executor.run_until_idle();
  EXPECT_EQ(first->value(), 3u);
  EXPECT_EQ(second->value(), 2u);
  EXPECT_FALSE(third);
  std::string got;
  bool ended = false;
  spawn(read_all(two, got, ended));
  executor.run_until_idle();
  EXPECT_EQ(third->value(), 5u);
  EXPECT_EQ(got, "abcababcde");
  two->close();
  spawn(write_once(one, pieces, 100, first));
  executor.run_until_idle();
  EXPECT_EQ(first->error().code, Errc::kUnavailable);
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

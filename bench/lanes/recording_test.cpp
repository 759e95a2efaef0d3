#include "bench/lanes/recording.h"

#include <gtest/gtest.h>

namespace moraine::bench {
namespace {

Slice bytes_of(std::string_view text) {
  return Slice::copy_of(text);
}

TEST(Recording, KeepsTheBytesOfConsecutiveRequestsTogether) {
  Recording recording;
  recording.add({bytes_of("ab"), bytes_of("c")});
  recording.add({bytes_of("de")});
  EXPECT_EQ(recording.requests(), 2u);
  EXPECT_EQ(as_text(recording.bytes()), "abcde");
  EXPECT_EQ(recording.begin(1), 3u);
  EXPECT_EQ(recording.end(1), 5u);
}

TEST(Recording, MatchesOnlyTheSizesOfRightAnswers) {
  Recording recording;
  recording.add({bytes_of("a")});
  recording.add({bytes_of("b")});
  recording.expect(1, {{10, 1, 4}, {20, 2, 14}, {30, 3, 24}});
  EXPECT_EQ(recording.match(0, 10), nullptr);
  EXPECT_EQ(recording.match(1, 11), nullptr);
  EXPECT_EQ(recording.match(1, 31), nullptr);
  for (const std::uint64_t messages : {1u, 2u, 3u}) {
    const AnswerSize* const size = recording.match(1, messages * 10);
    ASSERT_NE(size, nullptr);
    EXPECT_EQ(size->messages, messages);
  }
}

// Answers of 0, 1 and 300 bytes.
std::vector<std::byte> three_answers() {
  std::vector<std::byte> bytes;
  for (const std::size_t size : {0u, 1u, 300u}) {
    for (const int shift : {24, 16, 8, 0}) {
      bytes.push_back(static_cast<std::byte>(size >> shift & 0xff));
    }
    bytes.resize(bytes.size() + size, std::byte{7});
  }
  return bytes;
}

TEST(AnswerStream, FindsAnswersInPartsOfEverySize) {
  const std::vector<std::byte> bytes = three_answers();
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    AnswerStream stream;
    std::vector<std::size_t> found;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      const std::size_t size = std::min(step, bytes.size() - at);
      stream.add(ByteSpan(bytes).subspan(at, size),
                 [&](std::size_t answer) { found.push_back(answer); });
    }
    EXPECT_EQ(found, (std::vector<std::size_t>{0, 1, 300})) << "parts of " << step;
    EXPECT_EQ(stream.left(), 0u);
  }
}

TEST(AnswerStream, CountsDroppedBytes) {
  const std::vector<std::byte> bytes = three_answers();
  AnswerStream stream;
  std::vector<std::size_t> found;
  const auto done = [&](std::size_t answer) { found.push_back(answer); };
  stream.add(ByteSpan(bytes).first(bytes.size() - 290), done);
  EXPECT_EQ(found.size(), 2u);
  ASSERT_EQ(stream.left(), 290u);
  stream.skip(90, done);
  EXPECT_EQ(found.size(), 2u);
  stream.skip(200, done);
  EXPECT_EQ(found, (std::vector<std::size_t>{0, 1, 300}));
}

}  // namespace
}  // namespace moraine::bench

// Topics of a database in a new folder, for tests.
#pragma once

#include "embed/test_database.h"

namespace moraine {

inline std::string values(const MessageBatch& batch) {
  std::string all;
  for (const Message& message : batch.messages) {
    if (!all.empty()) all += ' ';
    all += message.value.value_or("-");
  }
  return all;
}

class TopicsTest : public DatabaseTest {
 protected:
  static MessageWriteOptions number(std::uint32_t partition, std::uint64_t number) {
    return {.partition = partition, .producer = "loader", .number = number};
  }
  Topic create(std::string name, TopicSpec spec = {}) {
    auto made = db_->run(db_->create_topic(std::move(name), std::move(spec)));
    EXPECT_TRUE(made) << made.error().message();
    return std::move(*made);
  }
  Topic topic(std::string name) {
    auto found = db_->run(db_->topic(std::move(name)));
    EXPECT_TRUE(found) << found.error().message();
    return std::move(*found);
  }
  // The offset.
  std::uint64_t write(const Topic& to, std::string_view value, MessageWriteOptions options = {}) {
    const auto written = db_->run(to.write({{.value = value}}, options));
    EXPECT_TRUE(written) << written.error().message();
    return written ? written->offset.value_or(~0ull) : ~0ull;
  }
  MessageBatch read(const Topic& from, MessageReadOptions options) {
    auto found = db_->run(from.read(options));
    EXPECT_TRUE(found) << found.error().message();
    return found ? std::move(*found) : MessageBatch();
  }
  template <class T>
  static void expect_error(const Result<T>& result, Errc code, std::string_view text = "") {
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code, code) << result.error().message();
    EXPECT_NE(result.error().context.find(text), std::string::npos) << result.error().message();
  }
};

}  // namespace moraine

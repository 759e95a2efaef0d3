// Messages from a file or from standard input: one a line, or all of it as one.
//
// Threading  Blocks.
// Limits     kInputMessageBytesMax for one message.
// Errors     kInvalidArgument: a line that is too long or has no key. kIo: reading failed.
// Tests      message_input_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/executor.h"

namespace moraine::app {

inline constexpr std::size_t kInputMessageBytesMax = std::size_t{64} << 20;

struct InputMessage {
  std::optional<std::string> key;
  std::string value;
  bool operator==(const InputMessage&) const = default;
};

struct InputRules {
  std::optional<std::string> key = std::nullopt;  // Of every message.
  std::string key_separator = {};                 // Not empty: between key and value of each line.
  bool null_key = false;  // A line without separator, or with an empty key, has no key.
};
// `number`: of the line, for error texts.
Result<InputMessage> to_message(std::string_view line, const InputRules& rules,
                                std::uint64_t number);

class LineInput {
 public:
  using Stop = std::function<bool()>;

  // "-" is standard input. `stop`: called while waiting; true ends the input.
  static Result<LineInput> open(const std::string& path, Stop stop);
  LineInput(LineInput&& other) noexcept;
  LineInput& operator=(LineInput&&) = delete;
  ~LineInput();

  // Without its line end; the last line may have none. nullopt: there is no more.
  Result<std::optional<std::string>> next();
  // Everything that is left.
  Result<std::string> rest();
  // Whether a line, or the end, is available within that time.
  bool ready_within(Duration patience);

 private:
  LineInput(int fd, std::string path, Stop stop)
      : fd_(fd), path_(std::move(path)), stop_(std::move(stop)) {}

  // More bytes, or the end.
  Result<void> fill();
  bool wait(Duration patience) const;

  int fd_;
  std::string path_;
  Stop stop_;
  std::string buffer_;
  std::size_t at_ = 0;    // Where the next line begins.
  std::size_t seen_ = 0;  // Up to here no line end was found.
  bool ended_ = false;
};

}  // namespace moraine::app

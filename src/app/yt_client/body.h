// What a request carries and what an answer delivers, in pieces.
//
// Threading  One thread.
// Limits     kReplayBytesMax: input up to this size is kept, so that it can be sent again.
// Tests      body_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "app/yt_client/yt_error.h"

namespace moraine::app {

inline constexpr std::size_t kBodyPieceBytes = std::size_t{64} << 10;
inline constexpr std::size_t kReplayBytesMax = std::size_t{16} << 20;

class BodySource {
 public:
  virtual ~BodySource() = default;
  // The next piece, valid until the next call; empty at the end.
  virtual Result<std::string_view> next() = 0;
  // Begins again. False: what was read is gone.
  virtual bool rewind() = 0;
};

class TextBody final : public BodySource {
 public:
  explicit TextBody(std::string text) : text_(std::move(text)) {}
  Result<std::string_view> next() override;
  bool rewind() override;

 private:
  const std::string text_;
  std::size_t at_ = 0;
};

// A file descriptor, which stays open. `progress` is called with the bytes read so far.
class FileBody final : public BodySource {
 public:
  explicit FileBody(int fd, std::function<void(std::uint64_t)> progress = {})
      : fd_(fd), progress_(std::move(progress)) {}
  Result<std::string_view> next() override;
  bool rewind() override;

 private:
  const int fd_;
  const std::function<void(std::uint64_t)> progress_;
  std::string kept_;        // All that was read, while it is at most kReplayBytesMax.
  std::size_t replay_ = 0;  // Up to here kept_ was returned again.
  std::string piece_;
  std::uint64_t read_ = 0;
  bool ended_ = false;
  bool forgotten_ = false;  // kept_ is incomplete.
};

// Takes pieces of an answer. An error ends the call.
using BodySink = std::function<Result<void>(std::string_view)>;

}  // namespace moraine::app

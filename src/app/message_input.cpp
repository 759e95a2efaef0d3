#include "app/message_input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "io/real/disk_file.h"

namespace moraine::app {
namespace {

constexpr std::size_t kReadStep = std::size_t{256} << 10;
constexpr Duration kStopPoll = 200ms;

std::unexpected<Error> too_long(const std::string& path) {
  return fail(Errc::kInvalidArgument,
              fmt::format("{}: a message has more than {} bytes", path, kInputMessageBytesMax));
}

}  // namespace

Result<InputMessage> to_message(std::string_view line, const InputRules& rules,
                                std::uint64_t number) {
  if (rules.key_separator.empty()) return InputMessage{rules.key, std::string(line)};
  const std::size_t at = line.find(rules.key_separator);
  if (at == std::string_view::npos) {
    if (rules.null_key) return InputMessage{std::nullopt, std::string(line)};
    return fail(Errc::kInvalidArgument,
                fmt::format("line {} has no '{}' after a key; --null-key takes such lines as "
                            "messages without a key",
                            number, rules.key_separator));
  }
  InputMessage message;
  if (at > 0 || !rules.null_key) message.key = std::string(line.substr(0, at));
  message.value = std::string(line.substr(at + rules.key_separator.size()));
  return message;
}

Result<LineInput> LineInput::open(const std::string& path, Stop stop) {
  if (path == "-") return LineInput(STDIN_FILENO, "standard input", std::move(stop));
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::unexpected(disk_error(errno, "open", path));
  return LineInput(fd, path, std::move(stop));
}

LineInput::LineInput(LineInput&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      stop_(std::move(other.stop_)),
      buffer_(std::move(other.buffer_)),
      at_(other.at_),
      seen_(other.seen_),
      ended_(other.ended_) {}

LineInput::~LineInput() {
  if (fd_ > STDERR_FILENO) close(fd_);
}

bool LineInput::wait(Duration patience) const {
  pollfd polled{fd_, POLLIN, 0};
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(patience);
  return poll(&polled, 1, static_cast<int>(milliseconds.count())) > 0;
}

Result<void> LineInput::fill() {
  while (!wait(kStopPoll)) {
    if (stop_()) {
      ended_ = true;
      return {};
    }
  }
  buffer_.erase(0, at_);
  seen_ -= at_;
  at_ = 0;
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kReadStep);
  const ssize_t count = ::read(fd_, buffer_.data() + before, kReadStep);
  const int error = errno;
  buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  if (count == 0) ended_ = true;
  if (count < 0 && error != EINTR) return std::unexpected(disk_error(error, "read", path_));
  return {};
}

Result<std::optional<std::string>> LineInput::next() {
  while (true) {
    const std::size_t end = buffer_.find('\n', seen_);
    if (end != std::string::npos) {
      std::string line = buffer_.substr(at_, end - at_);
      at_ = seen_ = end + 1;
      return line;
    }
    seen_ = buffer_.size();
    if (seen_ - at_ > kInputMessageBytesMax) return too_long(path_);
    if (ended_) break;
    TRY_VOID(fill());
  }
  if (at_ == buffer_.size()) return std::nullopt;
  return buffer_.substr(std::exchange(at_, buffer_.size()));
}

Result<std::string> LineInput::rest() {
  while (!ended_) {
    if (buffer_.size() - at_ > kInputMessageBytesMax) return too_long(path_);
    TRY_VOID(fill());
  }
  seen_ = buffer_.size();
  return buffer_.substr(std::exchange(at_, buffer_.size()));
}

bool LineInput::ready_within(Duration patience) {
  while (!ended_ && buffer_.size() - at_ <= kInputMessageBytesMax) {
    if (buffer_.find('\n', seen_) != std::string::npos) return true;
    seen_ = buffer_.size();
    if (!wait(patience)) return false;
    if (!fill()) return true;  // next() fails with the same error.
  }
  return true;
}

}  // namespace moraine::app

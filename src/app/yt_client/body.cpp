#include "app/yt_client/body.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace moraine::app {

Result<std::string_view> TextBody::next() {
  const std::string_view piece = std::string_view(text_).substr(at_, kBodyPieceBytes);
  at_ += piece.size();
  return piece;
}

bool TextBody::rewind() {
  at_ = 0;
  return true;
}

Result<std::string_view> FileBody::next() {
  if (replay_ < kept_.size()) {
    const std::string_view piece = std::string_view(kept_).substr(replay_, kBodyPieceBytes);
    replay_ += piece.size();
    return piece;
  }
  if (ended_) return std::string_view();
  piece_.resize(kBodyPieceBytes);
  ssize_t count = -1;
  do {
    count = ::read(fd_, piece_.data(), piece_.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) return fail(Errc::kIo, std::string("the input: ") + std::strerror(errno));
  piece_.resize(static_cast<std::size_t>(count));
  ended_ = count == 0;
  read_ += piece_.size();
  if (kept_.size() + piece_.size() > kReplayBytesMax) {
    forgotten_ = true;
    kept_.clear();
    kept_.shrink_to_fit();
    replay_ = 0;
  }
  if (!forgotten_) {
    kept_ += piece_;
    replay_ = kept_.size();
  }
  if (progress_) progress_(read_);
  return std::string_view(piece_);
}

bool FileBody::rewind() {
  if (forgotten_) return false;
  replay_ = 0;
  return true;
}

}  // namespace moraine::app

#include "io/real/tcp_connection.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/invariant.h"
#include "io/real/tcp_socket.h"

namespace moraine {
namespace {

Error broken(const char* operation, int error_number) {
  return {Errc::kUnavailable, fmt::format("{}: {}", operation, std::strerror(error_number))};
}

}  // namespace

TcpConnection::~TcpConnection() {
  INVARIANT(fd_ < 0, "a connection is closed before it is destroyed");
}

void TcpConnection::attach(int fd) {
  INVARIANT(fd_ < 0 && !closed(), "a connection gets one socket");
  fd_ = fd;
  watch_ = lane_.watch(fd, *this);
}

void TcpConnection::send(FrameKind kind, std::uint64_t request, Slice payload) {
  if (closed()) return;
  const FrameHeaderBytes header = encode_frame_header(kind, request, payload);
  queue_.push_back({header, request, std::move(payload)});
  unsent_bytes_ += queue_.back().size();
  flush_later();
}

bool TcpConnection::drop_unsent(std::uint64_t request) {
  // Dropped frames are mostly old ones, which are at the front: the search is short.
  for (auto it = queue_.begin(); it != queue_.end(); ++it) {
    if (it->request != request) continue;
    if (it == queue_.begin() && front_sent_ > 0) return false;
    unsent_bytes_ -= it->size();
    queue_.erase(it);
    return true;
  }
  return false;
}

void TcpConnection::set_reading(bool reading) {
  const bool resumed = reading && !reading_;
  reading_ = reading;
  if (resumed && !in_read_) {
    lane_.post([self = shared_from_this()] { self->read(); });
  }
}

void TcpConnection::close(const Error& why) {
  if (closed()) return;
  const auto self = shared_from_this();
  if (fd_ >= 0) {
    lane_.unwatch(watch_, fd_);
    ::close(std::exchange(fd_, -1));
  }
  queue_.clear();
  unsent_bytes_ = 0;
  std::exchange(owner_, nullptr)->on_closed(why);
}

void TcpConnection::reject(const Error& why) {
  if (closed()) return;
  const auto self = shared_from_this();
  send(FrameKind::kClose, 0, encode_close(why.message()));
  while (writable_ && !queue_.empty() && send_some()) {
  }
  close(why);
}

void TcpConnection::on_ready(Ready ready) {
  const auto self = shared_from_this();
  if (!connected_) {
    if (!ready.writable) return;
    if (const int status = connect_status(fd_); status != 0) {
      close(broken("connect", status));
      return;
    }
    connected_ = true;
  }
  if (ready.writable && !writable_) {
    writable_ = true;
    flush();
  }
  if (ready.readable) {
    readable_ = true;
    ended_ = ended_ || ready.ended;
    read();
  }
}

void TcpConnection::flush_later() {
  if (flush_posted_ || !writable_) return;
  flush_posted_ = true;
  lane_.post([self = shared_from_this()] {
    self->flush_posted_ = false;
    self->flush();
  });
}

void TcpConnection::flush() {
  const std::size_t before = queue_.size();
  while (!closed() && writable_ && !queue_.empty()) {
    if (!send_some()) return;
  }
  if (!closed() && queue_.size() < before) owner_->on_sent();
}

// Sends once; false when the connection broke.
bool TcpConnection::send_some() {
  std::array<iovec, kPiecesPerSend> pieces;
  std::size_t count = 0;
  std::size_t skip = front_sent_;
  for (auto it = queue_.begin(); it != queue_.end() && count + 2 <= pieces.size(); ++it) {
    for (const ByteSpan part : {ByteSpan(it->header), it->payload.span()}) {
      const std::size_t skipped = std::min(skip, part.size());
      skip -= skipped;
      if (skipped == part.size()) continue;
      pieces[count++] = {const_cast<std::byte*>(part.data()) + skipped, part.size() - skipped};
    }
  }
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = count;
  const ssize_t done = sendmsg(fd_, &message, MSG_NOSIGNAL);
  if (done >= 0) {
    sent(static_cast<std::size_t>(done));
  } else if (errno == EAGAIN) {
    writable_ = false;
  } else if (errno != EINTR) {
    close(broken("send", errno));
    return false;
  }
  return true;
}

void TcpConnection::sent(std::size_t bytes) {
  unsent_bytes_ -= bytes;
  front_sent_ += bytes;
  while (!queue_.empty() && front_sent_ >= queue_.front().size()) {
    front_sent_ -= queue_.front().size();
    queue_.pop_front();
  }
}

void TcpConnection::read() {
  if (in_read_) return;
  in_read_ = true;
  std::size_t budget = kReadBytesPerTurn;
  while (deliver() && readable_) {
    if (budget == 0) {
      lane_.post([self = shared_from_this()] { self->read(); });
      break;
    }
    if (!read_some(budget)) break;
  }
  in_read_ = false;
}

// Hands the frames that are complete to the owner; false when nothing more may be read now.
bool TcpConnection::deliver() {
  while (!closed() && reading_) {
    Result<std::optional<Frame>> frame = reader_.next();
    if (!frame) {
      reject(frame.error());
      return false;
    }
    if (!*frame) return true;
    owner_->on_frame(std::move(**frame));
  }
  return false;
}

bool TcpConnection::read_some(std::size_t& budget) {
  std::array<iovec, 2> pieces;
  std::size_t count = 0;
  std::size_t room = 0;
  for (const MutableByteSpan part : reader_.space()) {
    if (part.empty()) continue;
    pieces[count++] = {part.data(), part.size()};
    room += part.size();
  }
  const ssize_t done = readv(fd_, pieces.data(), static_cast<int>(count));
  if (done > 0) {
    const auto bytes = static_cast<std::size_t>(done);
    reader_.filled(bytes);
    budget -= std::min(budget, bytes);
    // A read that leaves room has emptied the socket: the next bytes are a new edge. The end of the
    // stream is not one when it was reported together with the last bytes.
    if (bytes < room && !ended_) readable_ = false;
    return true;
  }
  if (done == 0) {
    close({Errc::kUnavailable, "the peer closed the connection"});
    return false;
  }
  if (errno == EINTR) return true;
  if (errno == EAGAIN) {
    readable_ = false;
  } else {
    close(broken("receive", errno));
  }
  return false;
}

}  // namespace moraine

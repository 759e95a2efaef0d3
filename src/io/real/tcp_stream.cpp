#include "io/real/tcp_stream.h"

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

namespace moraine {
namespace {

std::unexpected<Error> closed() {
  return fail(Errc::kUnavailable, "the connection is closed");
}

std::unexpected<Error> broken(const char* operation) {
  return fail(Errc::kUnavailable, fmt::format("{}: {}", operation, std::strerror(errno)));
}

// What of `pieces` is still to be written: from byte `skip` of piece `first` on.
struct Unwritten {
  std::span<const Slice> pieces;
  std::size_t first = 0;
  std::size_t skip = 0;

  // The first `bytes_max` bytes of it.
  std::size_t fill(std::array<iovec, kPiecesPerWrite>& parts, std::size_t bytes_max) const;
  void written(std::size_t bytes);
  bool done() const { return first == pieces.size(); }
};

std::size_t Unwritten::fill(std::array<iovec, kPiecesPerWrite>& parts,
                            std::size_t bytes_max) const {
  std::size_t count = 0;
  for (std::size_t i = first; i < pieces.size() && bytes_max > 0; ++i) {
    ByteSpan piece = pieces[i].span().subspan(i == first ? skip : 0);
    piece = piece.first(std::min(piece.size(), bytes_max));
    if (piece.empty()) continue;
    bytes_max -= piece.size();
    if (count > 0) {
      iovec& last = parts[count - 1];
      if (static_cast<const std::byte*>(last.iov_base) + last.iov_len == piece.data()) {
        last.iov_len += piece.size();
        continue;
      }
    }
    if (count == parts.size()) break;
    parts[count++] = {const_cast<std::byte*>(piece.data()), piece.size()};
  }
  return count;
}

void Unwritten::written(std::size_t bytes) {
  skip += bytes;
  while (first < pieces.size() && skip >= pieces[first].size()) skip -= pieces[first++].size();
}

}  // namespace

TcpStream::TcpStream(Lane& lane, int fd, std::string peer)
    : lane_(lane), fd_(fd), watch_(lane.watch(fd, *this)), peer_(std::move(peer)) {}

TcpStream::~TcpStream() {
  close();
}

auto TcpStream::wait(std::coroutine_handle<>& slot) {
  struct Awaiter {
    std::coroutine_handle<>& slot;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> self) {
      INVARIANT(!slot, "a stream has one reader and one writer");
      slot = self;
    }
    void await_resume() const noexcept {}
  };
  return Awaiter{slot};
}

Task<Result<void>> TcpStream::readable() {
  while (fd_ >= 0) {
    if (readable_) {
      std::byte byte;
      const ssize_t done = recv(fd_, &byte, 1, MSG_PEEK);
      if (done >= 0 || (errno != EAGAIN && errno != EINTR)) co_return Result<void>();
      if (errno == EINTR) continue;
      readable_ = false;
    }
    co_await wait(reader_);
    if (fd_ >= 0 && readable_) co_return Result<void>();  // Just reported by the system.
  }
  co_return closed();
}

Task<Result<std::size_t>> TcpStream::read(MutableByteSpan into) {
  while (fd_ >= 0) {
    if (!readable_) {
      co_await wait(reader_);
      continue;
    }
    const ssize_t done = recv(fd_, into.data(), into.size(), 0);
    if (done >= 0) {
      const auto bytes = static_cast<std::size_t>(done);
      // A read that leaves room has emptied the socket: the next bytes are a new edge. The end is
      // not one when it was reported together with the last bytes.
      if (bytes < into.size() && !ended_) readable_ = false;
      co_return bytes;
    }
    if (errno == EAGAIN) {
      readable_ = false;
    } else if (errno != EINTR) {
      co_return broken("receive");
    }
  }
  co_return closed();
}

// One attempt; 0: it has to be repeated, after waiting if the stream is not writable.
Result<std::size_t> TcpStream::send_now(std::span<iovec> parts) {
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t done = sendmsg(fd_, &message, MSG_NOSIGNAL);
  if (done >= 0) return static_cast<std::size_t>(done);
  if (errno == EAGAIN) {
    writable_ = false;
  } else if (errno != EINTR) {
    return broken("send");
  }
  return 0;
}

Task<Result<void>> TcpStream::write(std::vector<Slice> pieces) {
  Unwritten left{pieces};
  left.written(0);
  while (!left.done()) {
    if (fd_ < 0) co_return closed();
    if (!writable_) {
      co_await wait(writer_);
      continue;
    }
    std::array<iovec, kPiecesPerWrite> parts;
    const std::size_t count = left.fill(parts, SIZE_MAX);
    CO_TRY(const std::size_t done, send_now(std::span(parts).first(count)));
    left.written(done);
  }
  co_return Result<void>();
}

Task<Result<std::size_t>> TcpStream::write_some(std::span<const Slice> pieces,
                                                std::size_t bytes_max) {
  while (fd_ >= 0) {
    if (!writable_) {
      co_await wait(writer_);
      continue;
    }
    std::array<iovec, kPiecesPerWrite> parts;
    const std::size_t count = Unwritten{pieces}.fill(parts, bytes_max);
    CO_TRY(const std::size_t done, send_now(std::span(parts).first(count)));
    if (done > 0) co_return done;
  }
  co_return closed();
}

void TcpStream::close() {
  if (fd_ < 0) return;
  lane_.unwatch(watch_, fd_);
  ::close(std::exchange(fd_, -1));
  const std::coroutine_handle<> reader = std::exchange(reader_, nullptr);
  const std::coroutine_handle<> writer = std::exchange(writer_, nullptr);
  // Posted: the caller of close() has to finish first.
  if (reader) lane_.post([reader] { reader.resume(); });
  if (writer) lane_.post([writer] { writer.resume(); });
}

void TcpStream::on_ready(Ready ready) {
  const auto self = shared_from_this();
  ended_ = ended_ || ready.ended;
  if (ready.readable) readable_ = true;
  if (ready.writable) writable_ = true;
  if (ready.readable && reader_) std::exchange(reader_, nullptr).resume();
  if (ready.writable && writer_) std::exchange(writer_, nullptr).resume();
}

}  // namespace moraine

#include "io/sim/sim_stream.h"

#include <algorithm>
#include <coroutine>
#include <cstring>
#include <vector>

#include "base/invariant.h"

namespace moraine {
namespace {

// One coroutine that waits for a change, resumed by a posted callback.
class Waiter {
 public:
  auto wait() {
    struct Awaiter {
      Waiter& waiter;
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> self) {
        INVARIANT(!waiter.handle_, "a stream has one reader and one writer");
        waiter.handle_ = self;
      }
      void await_resume() const noexcept {}
    };
    return Awaiter{*this};
  }
  void wake(Executor& executor) {
    if (const std::coroutine_handle<> self = std::exchange(handle_, nullptr)) {
      executor.post([self] { self.resume(); });
    }
  }

 private:
  std::coroutine_handle<> handle_;
};

// One direction.
struct Pipe {
  std::vector<std::byte> bytes;
  std::size_t taken = 0;  // Number of `bytes` that were read.
  bool no_writer = false;
  bool no_reader = false;
  Waiter reader;
  Waiter writer;

  std::size_t size() const { return bytes.size() - taken; }
};

std::unexpected<Error> closed() {
  return fail(Errc::kUnavailable, "the connection is closed");
}

class SimStream final : public ByteStream {
 public:
  SimStream(Executor& executor, Executor& other_end, std::shared_ptr<Pipe> in,
            std::shared_ptr<Pipe> out, const SimStreamOptions& options, std::string peer)
      : executor_(executor),
        other_end_(other_end),
        in_(std::move(in)),
        out_(std::move(out)),
        window_(options.window),
        read_bytes_max_(options.read_bytes_max),
        peer_(std::move(peer)) {}
  ~SimStream() override { close(); }

  Task<Result<void>> readable() override {
    const auto in = in_;
    while (!in->no_reader && in->size() == 0 && !in->no_writer) co_await in->reader.wait();
    if (in->no_reader) co_return closed();
    co_return Result<void>();
  }

  Task<Result<std::size_t>> read(MutableByteSpan into) override {
    const auto in = in_;
    while (!in->no_reader && in->size() == 0 && !in->no_writer) co_await in->reader.wait();
    if (in->no_reader) co_return closed();
    const std::size_t size = std::min({in->size(), into.size(), read_bytes_max_});
    if (size > 0) std::memcpy(into.data(), in->bytes.data() + in->taken, size);
    in->taken += size;
    if (in->taken == in->bytes.size()) {
      in->bytes.clear();
      in->taken = 0;
    }
    in->writer.wake(other_end_);
    co_return size;
  }

  Task<Result<std::size_t>> write_some(std::span<const Slice> pieces,
                                       std::size_t bytes_max) override {
    const auto out = out_;
    while (full(*out)) co_await out->writer.wait();
    if (out->no_writer || out->no_reader) co_return closed();
    std::size_t done = 0;
    for (const Slice& piece : pieces) {
      const std::size_t room = std::min(bytes_max - done, window_ - out->size());
      const ByteSpan part = piece.span().first(std::min(piece.size(), room));
      out->bytes.insert(out->bytes.end(), part.begin(), part.end());
      done += part.size();
    }
    out->reader.wake(other_end_);
    co_return done;
  }

  Task<Result<void>> write(std::vector<Slice> pieces) override {
    const auto out = out_;
    for (const Slice& piece : pieces) {
      for (std::size_t at = 0; at < piece.size();) {
        while (full(*out)) co_await out->writer.wait();
        if (out->no_writer || out->no_reader) co_return closed();
        const ByteSpan part =
            piece.span().subspan(at, std::min(piece.size() - at, window_ - out->size()));
        out->bytes.insert(out->bytes.end(), part.begin(), part.end());
        at += part.size();
        out->reader.wake(other_end_);
      }
    }
    co_return Result<void>();
  }

  void close() override {
    in_->no_reader = true;
    out_->no_writer = true;
    in_->reader.wake(executor_);
    in_->writer.wake(other_end_);
    out_->reader.wake(other_end_);
    out_->writer.wake(executor_);
  }

  std::string peer() const override { return peer_; }

 private:
  bool full(const Pipe& pipe) const {
    return !pipe.no_writer && !pipe.no_reader && pipe.size() >= window_;
  }

  Executor& executor_;
  Executor& other_end_;
  const std::shared_ptr<Pipe> in_;
  const std::shared_ptr<Pipe> out_;
  const std::size_t window_;
  const std::size_t read_bytes_max_;
  const std::string peer_;
};

}  // namespace

std::pair<std::shared_ptr<ByteStream>, std::shared_ptr<ByteStream>> make_sim_streams(
    Executor& first, Executor& second, const SimStreamOptions& options) {
  const auto forth = std::make_shared<Pipe>();
  const auto back = std::make_shared<Pipe>();
  return {std::make_shared<SimStream>(first, second, back, forth, options, options.first_peer),
          std::make_shared<SimStream>(second, first, forth, back, options, options.second_peer)};
}

std::pair<std::shared_ptr<ByteStream>, std::shared_ptr<ByteStream>> make_sim_streams(
    Executor& executor, const SimStreamOptions& options) {
  return make_sim_streams(executor, executor, options);
}

}  // namespace moraine

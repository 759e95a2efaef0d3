#include "gateway/http/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace moraine::http {

namespace {

// Parts of a body, copied into one buffer that grows: a part keeps all that was read with it, and
// there may be one for each byte.
class Gathered {
 public:
  void add(const Slice& part) {
    if (size_ + part.size() > buffer_.size()) {
      Buffer larger(std::max(size_ + part.size(), 2 * buffer_.size()));
      if (size_ > 0) std::memcpy(larger.data(), buffer_.data(), size_);
      buffer_ = std::move(larger);
    }
    std::memcpy(buffer_.data() + size_, part.data(), part.size());
    size_ += part.size();
  }
  std::size_t size() const { return size_; }
  Slice take() && { return std::move(buffer_).freeze().sub(0, size_); }

 private:
  Buffer buffer_;
  std::size_t size_ = 0;
};

std::unexpected<Error> too_long(std::size_t most) {
  return fail(Errc::kInvalidArgument,
              fmt::format("the request's body has more than {} bytes", most));
}

}  // namespace

Task<Result<Slice>> Exchange::read_all(std::size_t most) {
  CO_TRY(const Slice first, co_await read());
  if (first.size() > most) co_return too_long(most);
  if (first.empty()) co_return Slice();
  Gathered whole;
  for (;;) {
    CO_TRY(const Slice next, co_await read());
    if (next.empty()) break;
    if (whole.size() == 0) whole.add(first);
    if (next.size() > most - whole.size()) co_return too_long(most);
    whole.add(next);
  }
  co_return whole.size() == 0 ? first : std::move(whole).take();
}

}  // namespace moraine::http

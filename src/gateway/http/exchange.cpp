#include "gateway/http/exchange.h"

#include <fmt/format.h>

#include <cstring>
#include <vector>

namespace moraine::http {

Task<Result<Slice>> Exchange::read_all(std::size_t most) {
  std::vector<Slice> slices;
  std::size_t bytes = 0;
  for (;;) {
    CO_TRY(Slice slice, co_await read());
    if (slice.empty()) break;
    bytes += slice.size();
    if (bytes > most) {
      co_return fail(Errc::kInvalidArgument,
                     fmt::format("the request's body has more than {} bytes", most));
    }
    slices.push_back(std::move(slice));
  }
  if (slices.empty()) co_return Slice();
  if (slices.size() == 1) co_return std::move(slices.front());
  Buffer whole(bytes);
  std::size_t at = 0;
  for (const Slice& slice : slices) {
    std::memcpy(whole.data() + at, slice.data(), slice.size());
    at += slice.size();
  }
  co_return std::move(whole).freeze();
}

}  // namespace moraine::http

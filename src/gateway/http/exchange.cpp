#include "gateway/http/exchange.h"

#include <fmt/format.h>

#include <cstring>
#include <vector>

namespace moraine::http {

Task<Result<Slice>> Exchange::read_all(std::size_t most) {
  std::vector<Slice> pieces;
  std::size_t bytes = 0;
  for (;;) {
    CO_TRY(Slice piece, co_await read());
    if (piece.empty()) break;
    bytes += piece.size();
    if (bytes > most) {
      co_return fail(Errc::kInvalidArgument,
                     fmt::format("the request's body has more than {} bytes", most));
    }
    pieces.push_back(std::move(piece));
  }
  if (pieces.empty()) co_return Slice();
  if (pieces.size() == 1) co_return std::move(pieces.front());
  Buffer whole(bytes);
  std::size_t at = 0;
  for (const Slice& piece : pieces) {
    std::memcpy(whole.data() + at, piece.data(), piece.size());
    at += piece.size();
  }
  co_return std::move(whole).freeze();
}

}  // namespace moraine::http

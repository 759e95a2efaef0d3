// Content codings of HTTP bodies: identity, gzip, deflate (zlib), br.
//
// Promise    Bodies are decoded and encoded in pieces; a small input that would become large takes
//            no more memory than a piece and, for br, the window that it asks for: up to 16 MiB,
//            taken from a budget. Of gzip and deflate it is found out which of the two the
//            bytes are: clients send the one under the name of the other.
// Errors     kInvalidArgument: the bytes are damaged, or end too early. kOverloaded: the budget has
//            no room for the window.
// Threading  One thread at a time.
// Tests      coding_test.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "gateway/http/answer_budget.h"

namespace moraine::yt {

inline constexpr std::size_t kCodingPieceBytes = std::size_t{64} << 10;

enum class Coding : std::uint8_t { kIdentity, kGzip, kDeflate, kBrotli };
std::string_view to_string(Coding coding);
// By the value of Content-Encoding. nullopt: unknown.
std::optional<Coding> parse_coding(std::string_view name);
// By the value of Accept-Encoding: the first that is known. nullopt: none is.
std::optional<Coding> choose_coding(std::string_view accepted);

class Decoder {
 public:
  virtual ~Decoder() = default;
  // Requires: pull() has returned 0 since. The bytes stay in place until it does again.
  virtual void feed(ByteSpan bytes) = 0;
  // At most kCodingPieceBytes of output; empty: feed more.
  virtual Result<std::string> pull() = 0;
  // After the last bytes were pulled: whether they were all.
  virtual Result<void> finish() = 0;
};
// The budget outlives it.
std::unique_ptr<Decoder> make_decoder(Coding coding, http::AnswerBudget& budget);

class Encoder {
 public:
  virtual ~Encoder() = default;
  // The coded bytes so far; all of them once `last` is true.
  virtual std::string encode(std::string_view bytes, bool last) = 0;
};
std::unique_ptr<Encoder> make_encoder(Coding coding);
// The memory that one takes, about.
std::size_t encoder_bytes(Coding coding);

}  // namespace moraine::yt

// Whatever a body is, it is decoded in bounded pieces or refused; what was encoded is decoded.
#include "base/invariant.h"
#include "gateway/yt/coding.h"

using namespace moraine;
using namespace moraine::yt;

namespace {

constexpr std::size_t kBudget = std::size_t{32} << 20;
constexpr std::size_t kOutputMax = std::size_t{4} << 20;  // Of bodies that become long.

// The body, or nullopt: it was refused or is long.
std::optional<std::string> decode(Coding coding, std::string_view bytes, std::size_t piece) {
  http::AnswerBudget budget(kBudget);
  const auto decoder = make_decoder(coding, budget);
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    decoder->feed(as_bytes(bytes.substr(at, piece)));
    for (;;) {
      const Result<std::string> got = decoder->pull();
      if (!got) return std::nullopt;
      if (got->empty()) break;
      INVARIANT(got->size() <= kCodingPieceBytes, "a piece of {} bytes", got->size());
      INVARIANT(budget.bytes() <= kBudget, "{} bytes of memory", budget.bytes());
      out += *got;
      if (out.size() > kOutputMax) return std::nullopt;
    }
  }
  if (!decoder->finish()) return std::nullopt;
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto coding = static_cast<Coding>(data[0] % 4);
  const std::size_t piece = 1 + data[1] * std::size_t{7};
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto whole = decode(coding, text, std::max<std::size_t>(text.size(), 1));
  const auto in_pieces = decode(coding, text, piece);
  INVARIANT(whole == in_pieces, "the pieces that bytes come in make a difference");

  const auto encoder = make_encoder(coding);
  std::string coded;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    coded += encoder->encode(text.substr(at, piece), false);
  }
  coded += encoder->encode({}, true);
  INVARIANT(decode(coding, coded, piece) == text, "a body has changed");
  return 0;
}

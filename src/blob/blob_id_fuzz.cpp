// Parsing never crashes, and what it accepts prints as the same text; any 25 bytes can be decoded.
#include <array>
#include <cstring>

#include "base/invariant.h"
#include "blob/blob_id.h"

using moraine::blob::BlobId;
using moraine::blob::kBlobIdBytes;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto id = BlobId::parse(text)) {
    const bool bracketed = text.front() == '[';
    INVARIANT(!bracketed || id->to_string() == text, "{} became {}", text, id->to_string());
    INVARIANT(BlobId::parse(id->to_hex()) == *id, "{} is not itself", id->to_hex());
  }
  if (size < 2 * kBlobIdBytes) return 0;

  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const BlobId a = BlobId::decode(bytes);
  const BlobId b = BlobId::decode(bytes + kBlobIdBytes);
  std::array<std::byte, kBlobIdBytes> again{};
  a.encode(again.data());
  INVARIANT(std::memcmp(again.data(), bytes, kBlobIdBytes) == 0, "{} encodes otherwise",
            a.to_hex());
  const int order = std::memcmp(bytes, bytes + kBlobIdBytes, kBlobIdBytes);
  INVARIANT((order < 0) == (a < b) && (order == 0) == (a == b), "{} and {} have two orders",
            a.to_hex(), b.to_hex());
  INVARIANT(BlobId::parse(a.to_hex()) == a, "{} is not itself", a.to_hex());
  INVARIANT(BlobId::parse(a.to_string()) == a, "{} is not itself", a.to_string());
  if (const auto lower = a.predecessor()) {
    INVARIANT(*lower < a, "{} is not below {}", lower->to_hex(), a.to_hex());
  }
  return 0;
}

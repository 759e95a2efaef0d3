// Decoding and parsing never crash, and what they accept has one encoding.
#include "base/checksum.h"
#include "base/coding.h"
#include "base/invariant.h"
#include "blob/group/config.h"

using namespace moraine;
using namespace moraine::blob;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(data), size);
  // A valid checksum is appended, so that the grammar is reached.
  Encoder sealed;
  sealed.raw(bytes);
  sealed.u32(crc32c(bytes));
  for (const ByteSpan input : {bytes, std::as_const(sealed).span()}) {
    if (const auto config = GroupConfig::decode(input)) {
      INVARIANT(check(*config).has_value(), "an unsound config was decoded");
      INVARIANT(equal(config->encode(), input), "a config of {} bytes encodes otherwise", size);
    }
  }
  const std::string_view text = as_text(bytes);
  if (const auto id = VDiskId::parse(text)) {
    INVARIANT(VDiskId::parse(id->to_string()) == *id, "{} is not itself", id->to_string());
  }
  return 0;
}

#include "scheme/next_tablet.h"

#include "base/sealed.h"

namespace moraine {
namespace {

constexpr std::uint8_t kVersion = 1;

}  // namespace

Slice encode_next_tablet(TabletId id) {
  Encoder encoder;
  encoder.u8(kVersion).u64(id.value);
  return seal(std::move(encoder));
}

Result<TabletId> decode_next_tablet(ByteSpan bytes) {
  TRY(const ByteSpan record, unseal(bytes));
  Decoder decoder(record);
  if (decoder.u8() != kVersion) return fail(Errc::kUnsupported, "next tablet version");
  const TabletId id{decoder.u64()};
  if (!decoder.finished() || id.value == 0) return fail(Errc::kCorrupt, "next tablet");
  return id;
}

}  // namespace moraine

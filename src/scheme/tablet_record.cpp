#include "scheme/tablet_record.h"

#include "base/sealed.h"

namespace moraine {
namespace {

constexpr std::uint8_t kVersion = 1;

}  // namespace

void append_tablet(Encoder& encoder, const TabletInfo& info) {
  encoder.u64(info.id.value).u8(static_cast<std::uint8_t>(info.channels.size()));
  for (const auto& history : info.channels) {
    encoder.u16(static_cast<std::uint16_t>(history.size()));
    for (const ChannelEntry& entry : history) encoder.u32(entry.from).u32(entry.group.value);
  }
}

Result<TabletInfo> take_tablet(Decoder& decoder) {
  TabletInfo info;
  info.id.value = decoder.u64();
  info.channels.resize(decoder.u8());
  for (auto& history : info.channels) {
    const std::uint16_t count = decoder.u16();
    for (std::uint16_t i = 0; i < count && !decoder.failed(); ++i) {
      ChannelEntry entry;
      entry.from = decoder.u32();
      entry.group.value = decoder.u32();
      history.push_back(entry);
    }
  }
  if (decoder.failed()) return fail(Errc::kCorrupt, "tablet is cut short");
  if (const auto checked = check(info); !checked) {
    return fail(Errc::kCorrupt, checked.error().context);
  }
  return info;
}

Slice encode_tablet(const TabletInfo& info) {
  Encoder encoder;
  encoder.u8(kVersion);
  append_tablet(encoder, info);
  return seal(std::move(encoder));
}

Result<TabletInfo> decode_tablet(ByteSpan bytes) {
  TRY(const ByteSpan record, unseal(bytes));
  Decoder decoder(record);
  if (decoder.u8() != kVersion) return fail(Errc::kUnsupported, "tablet record version");
  TRY(TabletInfo info, take_tablet(decoder));
  if (!decoder.finished()) return fail(Errc::kCorrupt, "tablet record length");
  return info;
}

}  // namespace moraine

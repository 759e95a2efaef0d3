// Any bytes as a VDisk record or a checkpoint page: decoded or rejected. What is decoded encodes to
// the same bytes.

#include <cstddef>
#include <cstdint>

#include "blob/vdisk/records.h"
#include "blob/vdisk/state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  using namespace moraine::blob;
  if (size == 0) return 0;
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      if (const auto facts = decode_facts(bytes)) {
        if (!equal(encode_facts(*facts).span(), bytes)) __builtin_trap();
      }
      break;
    case 1:
      if (const auto meta = decode_meta_state(bytes)) (void)encode_meta(*meta);
      break;
    case 2:
      if (const auto put = decode_put(bytes)) {
        if (!equal(encode_put(*put).span(), bytes)) __builtin_trap();
      }
      break;
    default: {
      SegmentTable segments(16, 1u << 20);
      VDiskState state(segments);
      MetaState meta;
      GroupConfig config;
      config.geometry = Geometry::standard(Species::kBlock42);
      config.disks.resize(8);
      meta.config = config;
      state.apply_meta(meta);
      (void)state.restore_page(bytes);
      break;
    }
  }
  return 0;
}

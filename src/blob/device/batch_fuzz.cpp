// Any bytes as a batch, and as the fixed sectors of a device: decoded or rejected, never read out
// of bounds.

#include <cstddef>
#include <cstdint>

#include "blob/device/batch.h"
#include "blob/device/format.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  using namespace moraine::blob;
  const ByteSpan bytes(reinterpret_cast<const std::byte*>(data), size);
  if (const auto meta = decode_meta(bytes)) {
    for (const RecordView& record : meta->records) {
      if (record.data_size > 0 && record.data_offset < meta->header.meta_size) __builtin_trap();
    }
  }
  (void)decode_superblock(bytes);
  (void)decode_root(bytes);
  if (const auto manifest = decode_manifest(bytes)) {
    // One of version 1 is encoded with the current version.
    const bool today = manifest->segments.empty() || manifest->segments[0].sectors.has_value();
    const Slice again = encode_manifest(*manifest);
    const auto read = decode_manifest(again);
    if (!read || !equal(encode_manifest(*read), again)) __builtin_trap();
    if (today && !manifest->segments.empty() && !equal(again, bytes)) __builtin_trap();
  }
  return 0;
}

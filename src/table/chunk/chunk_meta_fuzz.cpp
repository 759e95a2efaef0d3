// Any bytes as a chunk's meta, with a matching checksum: rejected, or it can be searched.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/checksum.h"
#include "base/coding.h"
#include "table/chunk/chunk_meta.h"

namespace {

using namespace moraine;
using namespace moraine::table;

void look(const Slice& bytes) {
  const auto meta = decode_meta(bytes);
  if (!meta) return;
  if (meta->index.size() + 1 != meta->units()) __builtin_trap();
  if (!meta->key_hashes.empty() && meta->key_hashes.size() != meta->units()) __builtin_trap();
  for (std::size_t i = 0; i < meta->index.size(); ++i) {
    if (meta->index.find(meta->index.at(i)) != i + 1) __builtin_trap();
  }
  for (std::uint64_t hash = 1; hash != 0; hash <<= 1)
    static_cast<void>(meta->filter.may_have(hash));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  look(Slice::copy_of(ByteSpan(reinterpret_cast<const std::byte*>(data), size)));
  // The same bytes as a body without compression and filter.
  constexpr std::size_t kHead = 20;
  Buffer made = Buffer::zeroed(kHead + size);
  store(made.data(), static_cast<std::uint8_t>(1 + size / 2 % 2));  // Either version.
  store(made.data() + 5, static_cast<std::uint8_t>(size % 2));
  store(made.data() + 8, static_cast<std::uint32_t>(size));
  store(made.data() + 16, static_cast<std::uint32_t>(size));
  if (size > 0) std::memcpy(made.data() + kHead, data, size);
  store(made.data() + 1, crc32c(made.span().subspan(5)));
  look(std::move(made).freeze());
  return 0;
}

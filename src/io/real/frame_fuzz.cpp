// Any bytes, split anywhere, give frames or an error; what decodes encodes back to the same bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/invariant.h"
#include "io/real/frame.h"
#include "io/real/frame_reader.h"

namespace {

using namespace moraine;

void check_round_trip(const Frame& frame) {
  const FrameHeaderBytes header = encode_frame_header(frame.kind, frame.request, frame.payload);
  const auto decoded = decode_frame_header(header);
  INVARIANT(decoded && decoded->request == frame.request, "header round trip");
  if (const auto hello = decode_hello(frame.payload)) {
    INVARIANT(equal(encode_hello(*hello), frame.payload), "hello round trip");
  }
  if (frame.payload.size() > kControlBytesMax) return;
  if (const auto refusal = decode_refusal(frame.payload)) {
    INVARIANT(equal(encode_refusal(refusal->code, refusal->context), frame.payload),
              "refusal round trip");
  }
}

void read_stream(ByteSpan stream, std::size_t step) {
  FrameReader reader(kFrameBytesMax);
  while (true) {
    auto frame = reader.next();
    if (!frame) return;
    if (*frame) {
      check_round_trip(**frame);
      continue;
    }
    if (stream.empty()) return;
    std::size_t count = 0;
    for (const MutableByteSpan part : reader.space()) {
      const std::size_t taken = std::min({part.size(), stream.size(), step - count});
      if (taken > 0) std::memcpy(part.data(), stream.data(), taken);
      stream = stream.subspan(taken);
      count += taken;
    }
    reader.filled(count);
  }
}

}  // namespace

// The first byte chooses how the rest is fed: as it is, or as the payload of a valid frame.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t step = data[1] + std::size_t{1};
  const ByteSpan rest(reinterpret_cast<const std::byte*>(data) + 2, size - 2);
  if (data[0] % 2 == 0) {
    read_stream(rest, step);
    return 0;
  }
  Buffer stream(kFrameHeaderBytes + rest.size());
  const FrameKind kind = rest.size() <= kControlBytesMax ? FrameKind::kHello : FrameKind::kRequest;
  const FrameHeaderBytes header = encode_frame_header(kind, data[1], rest);
  std::memcpy(stream.data(), header.data(), header.size());
  if (!rest.empty()) std::memcpy(stream.data() + header.size(), rest.data(), rest.size());
  read_stream(stream.span(), step);
  return 0;
}

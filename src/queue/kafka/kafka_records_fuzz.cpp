// Any bytes as record batches: parsing, decompressing and iterating never crash, and a batch that
// passes a broker's checks can be placed, read and built again as the same records.
#include <algorithm>
#include <tuple>

#include "base/checksum.h"
#include "base/invariant.h"
#include "queue/kafka/reader.h"
#include "queue/kafka/records.h"
#include "queue/kafka/test_bytes.h"

using namespace moraine;
using namespace moraine::kafka;

namespace {

constexpr std::size_t kPlainBytes = 1 << 20;

void build_again(const RecordBatch& batch) {
  BatchBuilder builder({.base_offset = batch.header.base_offset});
  auto reader = RecordReader::open(batch, kPlainBytes);
  INVARIANT(reader.has_value(), "a checked batch does not open: {}", reader.error().message);
  Record record;
  while (true) {
    const auto more = reader->next(record);
    INVARIANT(more.has_value(), "a checked record is not read: {}", more.error().message);
    if (!*more) break;
    const auto added = builder.append(record);
    INVARIANT(added.has_value(), "{}", added.error().message());
  }
  const auto built = parse_batch(std::move(builder).build());
  INVARIANT(built && crc_holds(*built) && built->header.record_count == batch.header.record_count,
            "a batch of {} records is built otherwise", batch.header.record_count);
  INVARIANT(check_records(*built).has_value(), "a built batch has wrong records");
}

void try_batch(const RecordBatch& batch) {
  const bool passed = check_produced(batch, {}).has_value();
  const bool sound = check_records(batch, kPlainBytes).has_value();
  if (passed && sound) build_again(batch);
  std::ignore = parse_marker(batch);
  const auto [header, rest] = place(batch, {.base_offset = 5, .log_append_time = 7});
  const auto placed = parse_batch(joined({header, rest}));
  INVARIANT(placed && crc_holds(*placed), "a placed batch does not hold");
  INVARIANT(placed->header.bytes() == batch.bytes.size(), "a placed batch changes its size");
}

// The input with a valid length, format and checksum, so that its records are reached.
Slice sealed(ByteSpan input) {
  Buffer bytes(std::max(input.size(), kBatchHeaderBytes));
  std::fill(bytes.span().begin(), bytes.span().end(), std::byte{0});
  std::copy(input.begin(), input.end(), bytes.data());
  BatchHeader header = BatchHeader::decode(bytes.data());
  header.batch_length = static_cast<std::int32_t>(bytes.size() - kBatchLengthEnd);
  header.magic = kMagic;
  header.attributes &= 0x1f;
  header.record_count &= 0xff;
  header.last_offset_delta = header.record_count - 1;
  header.encode(bytes.data());
  header.crc = crc32c(bytes.span().subspan(21));
  header.encode(bytes.data());
  return std::move(bytes).freeze();
}

// The input as the payload of a client: it is restored, and a changed byte does no harm.
void try_packed(const Slice& input) {
  if (input.size() < 2) return;
  const auto codec = static_cast<Compression>(std::to_integer<int>(input.data()[0]) % 5);
  const Slice plain = input.sub(2, input.size() - 2);
  const Slice packed = compress(codec, plain);
  const auto unpacked = decompress(codec, packed, kPlainBytes);
  INVARIANT(unpacked && equal(*unpacked, plain), "{} does not give back {} bytes", to_string(codec),
            plain.size());

  Buffer batch(kBatchHeaderBytes + packed.size());
  std::fill_n(batch.data(), kBatchHeaderBytes, std::byte{0});
  std::copy_n(packed.data(), packed.size(), batch.data() + kBatchHeaderBytes);
  BatchHeader header;
  header.attributes = static_cast<std::int16_t>(codec);
  header.record_count = std::to_integer<int>(input.data()[1]);
  header.encode(batch.data());
  if (const auto whole = single_batch(sealed(batch.span()))) try_batch(*whole);

  Buffer changed(packed.size());
  std::copy_n(packed.data(), packed.size(), changed.data());
  if (changed.size() > 0) {
    changed.data()[std::to_integer<std::size_t>(input.data()[1]) % changed.size()] ^= std::byte{1};
  }
  std::ignore = decompress(codec, std::move(changed).freeze(), kPlainBytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Slice bytes = Slice::copy_of(ByteSpan(reinterpret_cast<const std::byte*>(data), size));
  for (const CutBatch cut : {CutBatch::kRefused, CutBatch::kDropped}) {
    const auto batches = split_batches(bytes, cut);
    if (!batches) continue;
    for (const RecordBatch& batch : *batches) try_batch(batch);
  }
  if (const auto batch = single_batch(sealed(bytes))) try_batch(*batch);
  try_packed(bytes);
  for (int codec = 0; codec <= kCompressionLast; ++codec) {
    std::ignore = decompress(static_cast<Compression>(codec), bytes, kPlainBytes);
  }
  return 0;
}

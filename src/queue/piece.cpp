#include "queue/piece.h"

#include <fmt/format.h>

#include <bit>
#include <map>

#include "base/checksum.h"
#include "base/coding.h"
#include "base/invariant.h"

namespace moraine::queue {
namespace {

constexpr std::uint32_t kMagic = 0x50514d52;  // "RMQP"
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kCrcAt = 8;
constexpr std::size_t kCrcEnd = 12;

void store_header(std::byte* to, const PieceHeader& header) {
  store(to, kMagic);
  store(to + 4, kVersion);
  store(to + 5, std::uint8_t{0});
  store(to + 6, header.sources);
  store(to + kCrcAt, header.index_crc);
  store(to + 12, header.payload_crc);
  store(to + 16, header.first_offset);
  store(to + 24, header.messages);
  store(to + 28, header.entries);
  store(to + 32, header.index_bytes);
  store(to + 36, header.payload_bytes);
  store(to + 40, header.written_ms);
  store(to + 48, header.max_timestamp_ms);
}

void store_entry(std::byte* to, const StoredEntry& entry, const PieceHeader& header,
                 std::uint32_t payload_at, std::uint32_t payload_bytes, std::uint16_t source) {
  store(to, static_cast<std::uint32_t>(entry.offset - header.first_offset));
  store(to + 4, entry.count);
  store(to + 8, payload_at);
  store(to + 12, payload_bytes);
  store(to + 16, static_cast<std::uint8_t>(entry.format));
  store(to + 17, std::uint8_t{0});
  store(to + 18, source);
  store(to + 20, entry.number);
  store(to + 28, entry.max_timestamp_ms);
  const std::uint64_t later =
      entry.write_time_ms > header.written_ms ? entry.write_time_ms - header.written_ms : 0;
  store(to + 36, static_cast<std::uint32_t>(std::min<std::uint64_t>(later, UINT32_MAX)));
}

// The first 8 bytes of a record batch are its offset, big-endian; bytes 12-15 the leader's epoch.
void place_batch(std::byte* batch, std::size_t size, Offset offset) {
  if (size < 16) return;
  store(batch, std::byteswap(offset));
  store(batch + 12, std::uint32_t{0});
}

constexpr std::size_t kBatchCrcAt = 17;
constexpr std::size_t kBatchCrcEnd = 21;

// How much of the payload's beginning differs in the piece, up to the batch's own checksum.
std::size_t changed_bytes(const StoredEntry& entry) {
  return entry.format == EntryFormat::kKafkaBatch ? std::min(entry.payload.size(), kBatchCrcEnd)
                                                  : 0;
}

// Writes the entry's payload and returns the checksum of the payloads before, extended by it. A
// verified checksum of a long batch is used instead of reading its bytes again.
std::uint32_t write_payload(ChainWriter& writer, const StoredEntry& entry, std::uint32_t before) {
  const std::size_t changed = changed_bytes(entry);
  const Slice rest = entry.payload.sub(changed, entry.payload.size() - changed);
  if (changed > 0) {
    std::byte* const to = writer.skip(changed);
    std::memcpy(to, entry.payload.data(), changed);
    place_batch(to, changed, entry.offset);
    before = crc32c(ByteSpan(to, changed), before);
  }
  writer.raw(rest);
  if (!entry.checksum_verified || changed == 0 || entry.payload.size() < kCombinedBytesMin) {
    return crc32c(rest, before);
  }
  const auto known = std::byteswap(load<std::uint32_t>(entry.payload.data() + kBatchCrcAt));
  return crc32c_combined(before, known, rest.size());
}

// Source ids are numbered from 1 in the order in which they first occur.
class SourceNumbers {
 public:
  std::uint16_t number(const std::string& id) {
    if (id.empty()) return 0;
    const auto [at, fresh] =
        numbers_.try_emplace(id, static_cast<std::uint16_t>(order_.size() + 1));
    if (fresh) {
      INVARIANT(order_.size() < kPieceSourcesMax, "too many sources for a piece");
      order_.push_back(&at->first);
      bytes_ += sizeof(std::uint32_t) + id.size();
    }
    return at->second;
  }
  std::size_t bytes() const { return bytes_; }
  std::uint16_t count() const { return static_cast<std::uint16_t>(order_.size()); }
  void store_all(std::byte* to) const {
    for (const std::string* id : order_) {
      store(to, static_cast<std::uint32_t>(id->size()));
      std::memcpy(to + sizeof(std::uint32_t), id->data(), id->size());
      to += sizeof(std::uint32_t) + id->size();
    }
  }

 private:
  std::map<std::string, std::uint16_t> numbers_;
  std::vector<const std::string*> order_;
  std::size_t bytes_ = 0;
};

// Fills everything before the payloads, both checksums included.
void seal(std::byte* piece, PieceHeader& header) {
  store_header(piece, header);
  const ByteSpan covered{piece + kCrcEnd, kPieceHeaderBytes - kCrcEnd + header.index_bytes};
  header.index_crc = crc32c(covered);
  store(piece + kCrcAt, header.index_crc);
}

PieceHeader header_of(const std::vector<StoredEntry>& entries, const SourceNumbers& sources) {
  PieceHeader header;
  header.first_offset = entries.front().offset;
  header.entries = static_cast<std::uint32_t>(entries.size());
  header.sources = sources.count();
  header.index_bytes =
      static_cast<std::uint32_t>(entries.size() * kPieceEntryBytes + sources.bytes());
  header.written_ms = entries.front().write_time_ms;
  header.max_timestamp_ms = entries.front().max_timestamp_ms;
  std::size_t payload_bytes = 0;
  for (const StoredEntry& entry : entries) {
    INVARIANT(entry.offset == header.end_offset(), "offset {} after {}", entry.offset,
              header.end_offset());
    header.messages += entry.count;
    payload_bytes += entry.payload.size();
    header.max_timestamp_ms = std::max(header.max_timestamp_ms, entry.max_timestamp_ms);
  }
  INVARIANT(payload_bytes <= UINT32_MAX, "a piece of {} bytes", payload_bytes);
  header.payload_bytes = static_cast<std::uint32_t>(payload_bytes);
  return header;
}

// Bytes of a piece that refers to its payloads, without what it refers to.
std::size_t block_bytes(const std::vector<StoredEntry>& entries, const PieceHeader& header) {
  std::size_t bytes = kPieceHeaderBytes + header.index_bytes;
  for (const StoredEntry& entry : entries) {
    const std::size_t changed = changed_bytes(entry);
    const Slice rest = entry.payload.sub(changed, entry.payload.size() - changed);
    bytes += changed + ChainWriter::copied_bytes(rest);
  }
  return bytes;
}

Error corrupt(std::string what) {
  return Error{Errc::kCorrupt, fmt::format("queue piece: {}", what)};
}

}  // namespace

std::size_t piece_cost(const StoredEntry& entry) {
  return kPieceEntryBytes + entry.payload.size() +
         (entry.source_id.empty() ? 0 : sizeof(std::uint32_t) + entry.source_id.size());
}

EncodedPiece encode_piece(const std::vector<StoredEntry>& entries) {
  INVARIANT(!entries.empty() && entries.size() <= kPieceEntriesMax, "a piece of {} entries",
            entries.size());
  SourceNumbers sources;
  std::vector<std::uint16_t> numbers;
  numbers.reserve(entries.size());
  for (const StoredEntry& entry : entries) numbers.push_back(sources.number(entry.source_id));
  PieceHeader header = header_of(entries, sources);
  const bool refers = header.bytes() <= kReferringPieceBytesMax;
  ChainWriter writer = refers ? ChainWriter(block_bytes(entries, header))
                              : ChainWriter(header.bytes(), ChainWriter::Slices::kCopied);
  std::byte* const front = writer.skip(kPieceHeaderBytes + header.index_bytes);
  std::byte* const index = front + kPieceHeaderBytes;
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto size = static_cast<std::uint32_t>(entries[i].payload.size());
    store_entry(index + i * kPieceEntryBytes, entries[i], header, at, size, numbers[i]);
    header.payload_crc = write_payload(writer, entries[i], header.payload_crc);
    at += size;
  }
  sources.store_all(index + entries.size() * kPieceEntryBytes);
  seal(front, header);
  return {header, std::move(writer).finish()};
}

Slice encode_piece_front(const StoredEntry& entry, std::uint32_t payload_bytes,
                         std::uint32_t payload_crc) {
  SourceNumbers sources;
  const std::uint16_t source = sources.number(entry.source_id);
  PieceHeader header = header_of({entry}, sources);
  header.payload_bytes = payload_bytes;
  header.payload_crc = payload_crc;
  Buffer front(kPieceHeaderBytes + header.index_bytes);
  std::byte* const index = front.data() + kPieceHeaderBytes;
  store_entry(index, entry, header, 0, payload_bytes, source);
  sources.store_all(index + kPieceEntryBytes);
  seal(front.data(), header);
  return std::move(front).freeze();
}

Result<PieceHeader> decode_piece_header(ByteSpan bytes) {
  if (bytes.size() < kPieceHeaderBytes) return std::unexpected(corrupt("short header"));
  Decoder decoder(bytes.first(kPieceHeaderBytes));
  if (decoder.u32() != kMagic) return std::unexpected(corrupt("wrong magic"));
  if (const std::uint8_t version = decoder.u8(); version != kVersion) {
    return fail(Errc::kUnsupported, fmt::format("queue piece of version {}", version));
  }
  if (decoder.u8() != 0) return std::unexpected(corrupt("reserved byte"));
  PieceHeader header;
  header.sources = decoder.u16();
  header.index_crc = decoder.u32();
  header.payload_crc = decoder.u32();
  header.first_offset = decoder.u64();
  header.messages = decoder.u32();
  header.entries = decoder.u32();
  header.index_bytes = decoder.u32();
  header.payload_bytes = decoder.u32();
  header.written_ms = decoder.u64();
  header.max_timestamp_ms = decoder.fixed<std::int64_t>();
  const bool sane = header.entries > 0 && header.entries <= kPieceEntriesMax &&
                    header.messages >= header.entries &&
                    header.index_bytes >= std::size_t{header.entries} * kPieceEntryBytes &&
                    header.first_offset <= UINT64_MAX - header.messages;
  if (!sane) return std::unexpected(corrupt("invalid header"));
  return header;
}

Piece Piece::trusted(const EncodedPiece& encoded) {
  Piece piece;
  piece.header_ = encoded.header;
  piece.bytes_ = encoded.bytes.joined();
  return piece;
}

Result<Piece> Piece::open(Slice bytes) {
  Piece piece;
  TRY(piece.header_, decode_piece_header(bytes));
  if (bytes.size() != piece.header_.bytes()) {
    return std::unexpected(
        corrupt(fmt::format("{} bytes, the header says {}", bytes.size(), piece.header_.bytes())));
  }
  const ByteSpan all = bytes;
  const std::size_t payload_at = kPieceHeaderBytes + piece.header_.index_bytes;
  if (crc32c(all.subspan(kCrcEnd, payload_at - kCrcEnd)) != piece.header_.index_crc) {
    return std::unexpected(corrupt("index checksum"));
  }
  if (crc32c(all.subspan(payload_at)) != piece.header_.payload_crc) {
    return std::unexpected(corrupt("payload checksum"));
  }
  piece.bytes_ = std::move(bytes);
  TRY_VOID(piece.check_index());
  return piece;
}

// Checks that entries tile the offsets and the payloads, and that all sources are present.
Result<void> Piece::check_index() const {
  std::uint64_t messages = 0;
  std::uint64_t payload = 0;
  for (std::size_t i = 0; i < header_.entries; ++i) {
    const std::byte* const from = at(i);
    const auto count = load<std::uint32_t>(from + 4);
    const bool tiles = load<std::uint32_t>(from) == messages && count > 0 &&
                       load<std::uint32_t>(from + 8) == payload;
    const bool known = load<std::uint8_t>(from + 16) <= 1 && load<std::uint8_t>(from + 17) == 0 &&
                       load<std::uint16_t>(from + 18) <= header_.sources;
    if (!tiles || !known) return std::unexpected(corrupt(fmt::format("entry {}", i)));
    messages += count;
    payload += load<std::uint32_t>(from + 12);
  }
  if (messages != header_.messages || payload != header_.payload_bytes) {
    return std::unexpected(corrupt("totals"));
  }
  const std::size_t entries_bytes = std::size_t{header_.entries} * kPieceEntryBytes;
  Decoder sources(bytes_.span().subspan(kPieceHeaderBytes + entries_bytes,
                                        header_.index_bytes - entries_bytes));
  for (std::size_t i = 0; i < header_.sources; ++i) sources.sized();
  if (!sources.finished()) return std::unexpected(corrupt("sources"));
  return {};
}

std::string Piece::source(std::size_t number) const {
  if (number == 0) return {};
  const std::size_t entries_bytes = std::size_t{header_.entries} * kPieceEntryBytes;
  Decoder sources(bytes_.span().subspan(kPieceHeaderBytes + entries_bytes,
                                        header_.index_bytes - entries_bytes));
  for (std::size_t i = 1; i < number; ++i) sources.sized();
  return std::string(as_text(sources.sized()));
}

StoredEntry Piece::entry(std::size_t index) const {
  INVARIANT(index < entries(), "entry {} of {}", index, entries());
  const std::byte* const from = at(index);
  StoredEntry entry;
  entry.offset = header_.first_offset + load<std::uint32_t>(from);
  entry.count = load<std::uint32_t>(from + 4);
  entry.format = static_cast<EntryFormat>(load<std::uint8_t>(from + 16));
  entry.source_id = source(load<std::uint16_t>(from + 18));
  entry.number = load<std::uint64_t>(from + 20);
  entry.max_timestamp_ms = load<std::int64_t>(from + 28);
  entry.write_time_ms = header_.written_ms + load<std::uint32_t>(from + 36);
  entry.payload =
      bytes_.sub(kPieceHeaderBytes + header_.index_bytes + load<std::uint32_t>(from + 8),
                 load<std::uint32_t>(from + 12));
  return entry;
}

std::int64_t Piece::max_timestamp_ms(std::size_t index) const {
  return load<std::int64_t>(at(index) + 28);
}

std::size_t Piece::payload_bytes(std::size_t index) const {
  return load<std::uint32_t>(at(index) + 12);
}

std::size_t Piece::index_of(Offset offset) const {
  const auto wanted = static_cast<std::uint32_t>(offset - header_.first_offset);
  std::size_t low = 0;
  std::size_t high = entries();
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    (load<std::uint32_t>(at(middle)) <= wanted ? low : high) = middle;
  }
  return low;
}

}  // namespace moraine::queue

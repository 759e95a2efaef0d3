// Byte grammar of DiskRequest and DiskReply. Integers are little-endian, `x*` is a u32 count and
// that many x, `x?` a flag (u8: 0 or 1) and x when it is 1, `bytes` a u32 size and the bytes.
//
//   frame     version u8 = 2, kind u8 (1 request, 2 reply), header_size u32, header,
//             crc32c u32 of all before it, bulk
//   bulk      the data of every `data` field, in the order of their sizes in the header; not under
//             the crc: the transport checks its payloads
//   request   vdisk, digest u32, tag u8, fields by tag
//   reply     status u8, colour u8, incarnation u64, reason bytes, config?, tag u8, fields by tag
//
//   vdisk     group u32, generation u32, realm u8, domain u8, vdisk u8
//   id        25 bytes of BlobId
//   tg        tablet u64, generation u32
//   config    bytes of GroupConfig (group/config.h)
//   data      size u32; the bytes are in bulk
//
//   tag       request                                         reply (tag 0: no body)
//   1 put     id, data, ignore_block flag, tg*                beyond_barrier flag
//   2 get     query*, index_only flag, force_block tg?,       answer*, truncated flag
//             reader tg?
//   3 block   tablet u64, generation u32, issuer u64          blocked u32
//   4 blocked tablet u64                                      blocked u32
//   5 collect tablet u64, channel u8, record_generation u32,  -
//             counter u32, barrier (u32, u32)?, hard flag,
//             keep id*, do_not_keep id*
//   6 range   from id, to id, limit u32, force_block tg?      item*, more flag, blocked u32
//   7 status  -                                               ready flag, replicated flag,
//                                                             blobs u64, missing u64, live u64,
//                                                             capacity u64, broken flag, reason
//                                                             bytes, replicating flag, restored
//                                                             u64, damaged u64, repaired u64
//   8 config  config                                          -
//   9 guid    order u32, state u8, guid u64                   state u8, guid u64, log u64,
//                                                             position u64
//   10 pull   order u32, log u64, after u64, cursor bytes     log u64, full flag, fact*,
//                                                             position u64, cursor bytes,
//                                                             more flag
//   query     id, shift u32, size u32
//   answer    query u32, status u8, part u8, data, ingress u32
//   item      id, ingress u32, local_parts u8, not_yet flag
//   fact      0 u8, id, ingress u32 | 1 u8, tablet u64, generation u32 |
//             2 u8, tablet u64, channel u8, hard flag, record_generation u32, counter u32,
//             barrier (u32, u32), seen u32
#include "blob/protocol_codec.h"

#include <array>
#include <cstring>

#include "base/checksum.h"
#include "blob/protocol_fields.h"

namespace moraine::blob {
namespace {

constexpr std::uint8_t kVersion = 2;
enum class Kind : std::uint8_t { kRequest = 1, kReply = 2 };
constexpr std::size_t kPrefixBytes = 1 + 1 + 4;
constexpr std::size_t kCrcBytes = 4;

// A tag is the number of its body type: 1 + the index of a request, the index of a reply.
constexpr std::array<std::string_view, 11> kNames{"no body", "put",     "get",   "block",
                                                  "blocked", "collect", "range", "status",
                                                  "config",  "guid",    "pull"};
static_assert(std::variant_size_v<RequestBody> + 1 == kNames.size());
static_assert(std::variant_size_v<ReplyBody> == kNames.size());
static_assert(std::is_same_v<std::variant_alternative_t<0, RequestBody>, PutPart>);
static_assert(std::is_same_v<std::variant_alternative_t<4, RequestBody>, Collect>);
static_assert(std::is_same_v<std::variant_alternative_t<9, RequestBody>, PullFacts>);
static_assert(std::is_same_v<std::variant_alternative_t<5, ReplyBody>, CollectReply>);
static_assert(std::is_same_v<std::variant_alternative_t<10, ReplyBody>, PullFactsReply>);

constexpr Kind kind_of(const DiskRequest*) {
  return Kind::kRequest;
}
constexpr Kind kind_of(const DiskReply*) {
  return Kind::kReply;
}
constexpr std::string_view name_of(Kind kind) {
  return kind == Kind::kRequest ? "request" : "reply";
}
std::string_view body_name(const DiskRequest& request) {
  return kNames[request.body.index() + 1];
}
std::string_view body_name(const DiskReply& reply) {
  return kNames[reply.body.index()];
}

template <class Message>
std::vector<Slice> pieces_of(const Message& message) {
  wire::WireWriter writer;
  wire::fields(writer, message);
  const std::size_t size = kPrefixBytes + writer.header().size() + kCrcBytes;
  Buffer head(size);
  std::byte* const at = head.data();
  store(at, kVersion);
  store(at + 1, static_cast<std::uint8_t>(kind_of(&message)));
  store(at + 2, static_cast<std::uint32_t>(writer.header().size()));
  std::memcpy(at + kPrefixBytes, writer.header().data(), writer.header().size());
  store(at + size - kCrcBytes, crc32c(ByteSpan(at, size - kCrcBytes)));

  std::vector<Slice> pieces = std::move(writer).take_bulk();
  pieces.insert(pieces.begin(), std::move(head).freeze());
  return pieces;
}

// The header's size, when everything up to the crc is valid.
Result<std::size_t> check_head(ByteSpan frame, Kind kind) {
  if (frame.size() < kPrefixBytes + kCrcBytes) {
    return fail(Errc::kCorrupt, fmt::format("only {} bytes", frame.size()));
  }
  const auto version = load<std::uint8_t>(frame.data());
  if (version != kVersion) {
    return fail(Errc::kCorrupt, fmt::format("version {} is unknown", version));
  }
  if (const auto code = load<std::uint8_t>(frame.data() + 1); code != static_cast<int>(kind)) {
    return fail(Errc::kCorrupt, fmt::format("kind {} is not {}", code, static_cast<int>(kind)));
  }
  const std::size_t size = load<std::uint32_t>(frame.data() + 2);
  if (size > frame.size() - kPrefixBytes - kCrcBytes) {
    return fail(Errc::kCorrupt, fmt::format("a header of {} bytes in {}", size, frame.size()));
  }
  const ByteSpan checked = frame.first(kPrefixBytes + size);
  if (crc32c(checked) != load<std::uint32_t>(checked.data() + checked.size())) {
    return fail(Errc::kCorrupt, "the header's checksum does not match");
  }
  return size;
}

template <class Message>
Result<Message> decode_frame(const Slice& frame) {
  constexpr Kind kKind = kind_of(static_cast<const Message*>(nullptr));
  auto header_size = check_head(frame, kKind);
  if (!header_size) {
    return std::unexpected(std::move(header_size).error().within(name_of(kKind)));
  }
  const std::size_t bulk_at = kPrefixBytes + *header_size + kCrcBytes;
  wire::WireReader reader(frame.span().subspan(kPrefixBytes, *header_size),
                          frame.sub(bulk_at, frame.size() - bulk_at));
  Message message;
  wire::fields(reader, message);
  if (auto finished = reader.finish(); !finished) {
    const std::string prefix = fmt::format("{} ({})", name_of(kKind), body_name(message));
    return std::unexpected(std::move(finished).error().within(prefix));
  }
  return message;
}

}  // namespace

std::vector<Slice> encode_pieces(const DiskRequest& request) {
  return pieces_of(request);
}
std::vector<Slice> encode_pieces(const DiskReply& reply) {
  return pieces_of(reply);
}

Slice concatenate(ByteSpan prefix, const std::vector<Slice>& pieces) {
  std::size_t size = prefix.size();
  for (const Slice& piece : pieces) size += piece.size();
  Buffer whole(size);
  std::byte* at = std::ranges::copy(prefix, whole.data()).out;
  for (const Slice& piece : pieces) at = std::ranges::copy(piece.span(), at).out;
  return std::move(whole).freeze();
}

Slice encode(const DiskRequest& request) {
  return concatenate({}, pieces_of(request));
}
Slice encode(const DiskReply& reply) {
  return concatenate({}, pieces_of(reply));
}

Result<DiskRequest> decode_request(const Slice& bytes) {
  return decode_frame<DiskRequest>(bytes);
}
Result<DiskReply> decode_reply(const Slice& bytes) {
  return decode_frame<DiskReply>(bytes);
}

}  // namespace moraine::blob

// clang-format off
//   record   = version u8 = 1
//              sized group id  generation u32  has offsets u8 (0, 1)
//              sized protocol type  sized protocol  sized leader
//              count u32  member*
//              crc u32                                     CRC32C of all bytes before it
//   member   = sized id  instance  sized client id  sized client host
//              session timeout u32 (ms)  rebalance timeout u32 (ms)
//              count u32  protocol*
//              sized assignment
//   instance = 0  |  1 sized id
//   protocol = sized name  sized metadata
//
//   Integers are little-endian; sized = length u32, bytes.
// clang-format on
#include "gateway/kafka/groups/group_codec.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/checksum.h"
#include "base/coding.h"
#include "gateway/kafka/groups/protocol_choice.h"

namespace moraine::kafka {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kCrcBytes = 4;
constexpr std::size_t kMemberBytesMin = 29;
constexpr std::size_t kProtocolBytesMin = 8;

void encode_member(Encoder& to, const MemberRecord& member) {
  to.sized(member.id).flag(member.instance_id.has_value());
  if (member.instance_id) to.sized(*member.instance_id);
  to.sized(member.client_id).sized(member.client_host);
  to.u32(static_cast<std::uint32_t>(member.session_timeout_ms));
  to.u32(static_cast<std::uint32_t>(member.rebalance_timeout_ms));
  to.u32(static_cast<std::uint32_t>(member.protocols.size()));
  for (const MemberProtocol& protocol : member.protocols) {
    to.sized(protocol.name).sized(protocol.metadata);
  }
  to.sized(member.assignment);
}

std::string text_of(Decoder& from) {
  return std::string(as_text(from.sized()));
}

MemberRecord decode_member(Decoder& from) {
  MemberRecord member;
  member.id = text_of(from);
  if (from.flag()) member.instance_id = text_of(from);
  member.client_id = text_of(from);
  member.client_host = text_of(from);
  member.session_timeout_ms = static_cast<std::int32_t>(from.u32());
  member.rebalance_timeout_ms = static_cast<std::int32_t>(from.u32());
  const std::uint32_t count = from.count(kProtocolBytesMin);
  for (std::uint32_t i = 0; i < count && !from.failed(); ++i) {
    MemberProtocol& protocol = member.protocols.emplace_back();
    protocol.name = text_of(from);
    protocol.metadata = Slice::copy_of(from.sized());
  }
  member.assignment = Slice::copy_of(from.sized());
  return member;
}

Result<void> check_members(const GroupRecord& record) {
  std::set<std::string> ids;
  std::set<std::string> instances;
  for (const MemberRecord& member : record.members) {
    if (member.id.empty() || !ids.insert(member.id).second) {
      return fail(Errc::kCorrupt, "group member id");
    }
    if (member.instance_id && !instances.insert(*member.instance_id).second) {
      return fail(Errc::kCorrupt, "group instance id is repeated");
    }
    if (member.session_timeout_ms <= 0 || member.rebalance_timeout_ms <= 0) {
      return fail(Errc::kCorrupt, "group member timeout");
    }
    if (find_protocol(member.protocols, record.protocol) == nullptr) {
      return fail(Errc::kCorrupt, "group member does not know the protocol");
    }
  }
  if (!record.leader.empty() && !ids.contains(record.leader)) {
    return fail(Errc::kCorrupt, "group leader is no member");
  }
  return {};
}

Result<void> check(const GroupRecord& record) {
  if (record.generation < 0) return fail(Errc::kCorrupt, "group generation");
  if (record.members.size() > kMembersMax) return fail(Errc::kCorrupt, "too many group members");
  if (record.members.empty() && (!record.protocol.empty() || !record.leader.empty())) {
    return fail(Errc::kCorrupt, "group without members has a protocol");
  }
  return check_members(record);
}

}  // namespace

std::size_t MemberRecord::bytes() const {
  std::size_t total = id.size() + client_id.size() + client_host.size();
  if (instance_id) total += instance_id->size();
  for (const MemberProtocol& protocol : protocols) {
    total += protocol.name.size() + protocol.metadata.size();
  }
  return total;
}

Slice encode_group(const GroupRecord& record) {
  Encoder to;
  to.u8(kVersion).sized(record.group_id).u32(static_cast<std::uint32_t>(record.generation));
  to.flag(record.has_offsets);
  to.sized(record.protocol_type).sized(record.protocol).sized(record.leader);
  to.u32(static_cast<std::uint32_t>(record.members.size()));
  for (const MemberRecord& member : record.members) encode_member(to, member);
  to.u32(crc32c(to.span()));
  return to.slice();
}

Result<GroupRecord> decode_group(const Slice& bytes) {
  if (bytes.size() < kCrcBytes) return fail(Errc::kCorrupt, "group record is cut short");
  const ByteSpan body = bytes.span().first(bytes.size() - kCrcBytes);
  if (load<std::uint32_t>(bytes.data() + body.size()) != crc32c(body)) {
    return fail(Errc::kCorrupt, "group record checksum");
  }
  Decoder from(body);
  if (from.u8() != kVersion) return fail(Errc::kCorrupt, "group record version");
  GroupRecord record;
  record.group_id = text_of(from);
  record.generation = static_cast<std::int32_t>(from.u32());
  record.has_offsets = from.flag();
  record.protocol_type = text_of(from);
  record.protocol = text_of(from);
  record.leader = text_of(from);
  const std::uint32_t count = from.count(kMemberBytesMin);
  for (std::uint32_t i = 0; i < count && !from.failed(); ++i) {
    record.members.push_back(decode_member(from));
  }
  if (!from.finished()) return fail(Errc::kCorrupt, "group record length");
  TRY_VOID(check(record));
  return record;
}

}  // namespace moraine::kafka

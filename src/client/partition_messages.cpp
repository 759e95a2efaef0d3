#include "client/partition_messages.h"

#include <fmt/format.h>

#include "base/coding.h"
#include "base/sealed.h"

namespace moraine {
namespace {

using queue::ConsumerOffset;
using queue::EntryFormat;
using queue::Numbering;
using queue::PartitionInfo;
using queue::StoredEntry;
using queue::WriteAnswer;
using queue::WriteRequest;
using queue::WriteStatus;

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kWriteBytesMin = 1 + 4 + 8 + 1 + 4 + 1 + 8 + 4 + 4 + 4 + 4;
constexpr std::size_t kAnswerBytesMin = 1 + 1 + 8 + 8 + 8 + 4 + 1;
constexpr std::size_t kEntryBytesMin = 8 + 4 + 1 + 8 + 8 + 4 + 8 + 1 + 4;
constexpr std::size_t kConsumerBytesMin = 4 + 8 + 4 + 4 + 8;
constexpr std::size_t kWatchedBytes = 8 + 4 + 8 + 8 + 1;

constexpr std::uint64_t PartitionInfo::* kInfoFields[] = {&PartitionInfo::start,
                                                          &PartitionInfo::end,
                                                          &PartitionInfo::bytes,
                                                          &PartitionInfo::head_blobs,
                                                          &PartitionInfo::body_blobs,
                                                          &PartitionInfo::sources,
                                                          &PartitionInfo::written_messages,
                                                          &PartitionInfo::written_bytes,
                                                          &PartitionInfo::duplicates,
                                                          &PartitionInfo::read_messages,
                                                          &PartitionInfo::read_bytes,
                                                          &PartitionInfo::compactions,
                                                          &PartitionInfo::rewritten_bytes,
                                                          &PartitionInfo::removed_messages,
                                                          &PartitionInfo::removed_bytes};

constexpr std::size_t kMovedBytes = 4 + 8 + 1 + std::size(kInfoFields) * 8;

std::unexpected<Error> bad(std::string_view what) {
  return fail(Errc::kCorrupt, fmt::format("message of partitions: {}", what));
}

std::string take_text(Decoder& decoder) {
  return std::string(as_text(decoder.sized()));
}

// Decodes a message whose payloads stay where they are.
class Reader : public Decoder {
 public:
  // `bytes` are within `whole`.
  Reader(const Slice& whole, ByteSpan bytes) : Decoder(bytes), whole_(whole), bytes_(bytes) {}
  Slice payload() {
    const std::size_t size = sized().size();
    if (failed()) return {};
    const auto begin = static_cast<std::size_t>(bytes_.data() - whole_.data());
    return whole_.sub(begin + position() - size, size);
  }

 private:
  const Slice& whole_;
  const ByteSpan bytes_;
};

void append(Encoder& encoder, const SessionName& name) {
  encoder.u64(name.incarnation).u64(name.session);
}
SessionName take_session(Decoder& decoder) {
  SessionName name;
  name.incarnation = decoder.u64();
  name.session = decoder.u64();
  return name;
}

void append(Encoder& encoder, const ChangeNumber& change) {
  append(encoder, change.in);
  encoder.u64(change.number);
}
ChangeNumber take_change(Decoder& decoder) {
  ChangeNumber change;
  change.in = take_session(decoder);
  change.number = decoder.u64();
  return change;
}

void append(Encoder& encoder, const PartitionInfo& info) {
  for (const auto field : kInfoFields) encoder.u64(info.*field);
}
PartitionInfo take_info(Decoder& decoder) {
  PartitionInfo info;
  for (const auto field : kInfoFields) info.*field = decoder.u64();
  return info;
}

void append(Encoder& encoder, const WatchedEnd& watched) {
  encoder.u64(watched.tablet.value).u32(watched.partition).u64(watched.incarnation);
  encoder.u64(watched.end).flag(watched.stopped);
}
WatchedEnd take_watched(Decoder& decoder) {
  WatchedEnd watched;
  watched.tablet = TabletId{decoder.u64()};
  watched.partition = decoder.u32();
  watched.incarnation = decoder.u64();
  watched.end = decoder.u64();
  watched.stopped = decoder.flag();
  return watched;
}

void append(Encoder& encoder, const MovedEnd& moved) {
  encoder.u32(moved.index).u64(moved.incarnation).flag(moved.stopped);
  append(encoder, moved.info);
}
MovedEnd take_moved(Decoder& decoder) {
  MovedEnd moved;
  moved.index = decoder.u32();
  moved.incarnation = decoder.u64();
  moved.stopped = decoder.flag();
  moved.info = take_info(decoder);
  return moved;
}

void append(Encoder& encoder, const WriteRequest& write) {
  encoder.u8(static_cast<std::uint8_t>(write.format)).u32(write.count);
  encoder.u64(static_cast<std::uint64_t>(write.max_timestamp_ms)).flag(write.checksum_verified);
  encoder.sized(write.producer.source_id);
  encoder.u8(static_cast<std::uint8_t>(write.producer.numbering)).u64(write.producer.number);
  encoder.u32(static_cast<std::uint32_t>(write.producer.epoch)).u32(write.part).u32(write.parts);
  encoder.sized(write.payload.span());
}
Result<EntryFormat> take_format(Decoder& decoder) {
  const std::uint8_t format = decoder.u8();
  if (format > static_cast<std::uint8_t>(EntryFormat::kKafkaBatch)) return bad("format");
  return static_cast<EntryFormat>(format);
}
Result<WriteRequest> take_write(Reader& reader) {
  WriteRequest write;
  TRY(write.format, take_format(reader));
  write.count = reader.u32();
  write.max_timestamp_ms = static_cast<std::int64_t>(reader.u64());
  write.checksum_verified = reader.flag();
  write.producer.source_id = take_text(reader);
  const std::uint8_t numbering = reader.u8();
  if (numbering > static_cast<std::uint8_t>(Numbering::kSequence)) return bad("numbering");
  write.producer.numbering = static_cast<Numbering>(numbering);
  write.producer.number = reader.u64();
  write.producer.epoch = static_cast<std::int32_t>(reader.u32());
  write.part = reader.u32();
  write.parts = reader.u32();
  write.payload = reader.payload();
  return write;
}

void append(Encoder& encoder, const ConsumerOffset& offset) {
  encoder.sized(offset.consumer).u64(offset.offset).sized(offset.metadata);
  encoder.u32(static_cast<std::uint32_t>(offset.leader_epoch)).u64(offset.committed_ms);
}
ConsumerOffset take_consumer(Decoder& decoder) {
  ConsumerOffset offset;
  offset.consumer = take_text(decoder);
  offset.offset = decoder.u64();
  offset.metadata = take_text(decoder);
  offset.leader_epoch = static_cast<std::int32_t>(decoder.u32());
  offset.committed_ms = decoder.u64();
  return offset;
}

void append(Encoder& encoder, const WriteAnswer& answer) {
  encoder.u8(static_cast<std::uint8_t>(answer.status)).flag(answer.offset.has_value());
  encoder.u64(answer.offset.value_or(0)).u64(answer.max_number).u64(answer.write_time_ms);
  encoder.sized(answer.detail).flag(answer.disk_full);
}
Result<WriteAnswer> take_answer(Decoder& decoder) {
  WriteAnswer answer;
  const std::uint8_t status = decoder.u8();
  if (status > static_cast<std::uint8_t>(WriteStatus::kStopped)) return bad("status of a write");
  answer.status = static_cast<WriteStatus>(status);
  const bool known = decoder.flag();
  const queue::Offset offset = decoder.u64();
  if (known) answer.offset = offset;
  if (!known && offset != 0) return bad("an unknown offset");
  answer.max_number = decoder.u64();
  answer.write_time_ms = decoder.u64();
  answer.detail = take_text(decoder);
  answer.disk_full = decoder.flag();
  return answer;
}

void append(Encoder& encoder, const StoredEntry& entry) {
  encoder.u64(entry.offset).u32(entry.count).u8(static_cast<std::uint8_t>(entry.format));
  encoder.u64(static_cast<std::uint64_t>(entry.max_timestamp_ms)).u64(entry.write_time_ms);
  encoder.sized(entry.source_id).u64(entry.number).flag(entry.checksum_verified);
  encoder.sized(entry.payload.span());
}
Result<StoredEntry> take_entry(Reader& reader) {
  StoredEntry entry;
  entry.offset = reader.u64();
  entry.count = reader.u32();
  TRY(entry.format, take_format(reader));
  entry.max_timestamp_ms = static_cast<std::int64_t>(reader.u64());
  entry.write_time_ms = reader.u64();
  entry.source_id = take_text(reader);
  entry.number = reader.u64();
  entry.checksum_verified = reader.flag();
  entry.payload = reader.payload();
  return entry;
}

void append(Encoder& encoder, const OpenSessionCall& call) {
  append(encoder, call.closes);
}
void append(Encoder& encoder, const CloseSessionCall& call) {
  append(encoder, call.closes);
}
void append(Encoder& encoder, const WriteCall& call) {
  append(encoder, call.change);
  encoder.u32(static_cast<std::uint32_t>(call.writes.size()));
  for (const WriteRequest& write : call.writes) append(encoder, write);
}
void append(Encoder& encoder, const CommitOffsetCall& call) {
  append(encoder, call.change);
  append(encoder, call.offset);
}
void append(Encoder& encoder, const ForgetConsumerCall& call) {
  append(encoder, call.change);
  encoder.sized(call.consumer);
}
void append(Encoder& encoder, const TrimCall& call) {
  append(encoder, call.change);
  encoder.u64(call.offset);
}
void append(Encoder& encoder, const ReadCall& call) {
  encoder.u64(call.offset).u32(call.bytes_max).u32(call.entries_max).u32(call.room);
}
void append(Encoder& encoder, const FindTimeCall& call) {
  encoder.u64(call.from).u64(static_cast<std::uint64_t>(call.time_ms)).u32(call.room);
}
void append(Encoder& encoder, const FindNewestCall& call) {
  encoder.u32(call.room);
}
void append(Encoder& encoder, const WaitCall& call) {
  encoder.u64(call.waiter).u32(static_cast<std::uint32_t>(call.watched.size()));
  for (const WatchedEnd& watched : call.watched) append(encoder, watched);
}
void append(Encoder& encoder, const DescribeCall& call) {
  encoder.u8(static_cast<std::uint8_t>(call.what)).sized(call.name);
}

Result<PartitionCall> take_writes(Reader& reader) {
  WriteCall call;
  call.change = take_change(reader);
  const std::uint32_t count = reader.count(kWriteBytesMin);
  if (count > kWritesPerCallMax) return bad("too many writes");
  for (std::uint32_t i = 0; i < count; ++i) {
    TRY(WriteRequest write, take_write(reader));
    call.writes.push_back(std::move(write));
  }
  return call;
}

ReadCall take_read(Decoder& decoder) {
  ReadCall call;
  call.offset = decoder.u64();
  call.bytes_max = decoder.u32();
  call.entries_max = decoder.u32();
  call.room = decoder.u32();
  return call;
}

FindTimeCall take_find_time(Decoder& decoder) {
  FindTimeCall call;
  call.from = decoder.u64();
  call.time_ms = static_cast<std::int64_t>(decoder.u64());
  call.room = decoder.u32();
  return call;
}

Result<PartitionCall> take_wait(Decoder& decoder) {
  WaitCall call;
  call.waiter = decoder.u64();
  const std::uint32_t count = decoder.count(kWatchedBytes);
  if (count > kWatchedPerCallMax) return bad("too many watched partitions");
  for (std::uint32_t i = 0; i < count; ++i) call.watched.push_back(take_watched(decoder));
  return call;
}

Result<PartitionCall> take_describe(Decoder& decoder) {
  DescribeCall call;
  const std::uint8_t what = decoder.u8();
  if (what > static_cast<std::uint8_t>(Described::kConsumers)) return bad("what to describe");
  call.what = static_cast<Described>(what);
  call.name = take_text(decoder);
  return call;
}

Result<PartitionCall> take_call(Reader& reader, std::uint8_t kind) {
  switch (kind) {
    case 1: return OpenSessionCall{take_session(reader)};
    case 2: return CloseSessionCall{take_session(reader)};
    case 3: return take_writes(reader);
    case 4: {
      const ChangeNumber change = take_change(reader);
      return CommitOffsetCall{change, take_consumer(reader)};
    }
    case 5: {
      const ChangeNumber change = take_change(reader);
      return ForgetConsumerCall{change, take_text(reader)};
    }
    case 6: {
      const ChangeNumber change = take_change(reader);
      return TrimCall{change, reader.u64()};
    }
    case 7: return take_read(reader);
    case 8: return take_find_time(reader);
    case 9: return FindNewestCall{reader.u32()};
    case 10: return take_wait(reader);
    case 11: return take_describe(reader);
    default: return bad("kind");
  }
}

Encoder begin(std::size_t kind) {
  Encoder encoder;
  encoder.u8(kPartitionsProtocol).u8(kVersion).u8(static_cast<std::uint8_t>(kind));
  return encoder;
}

// The bytes between the version and the checksum.
Result<ByteSpan> body_of(ByteSpan bytes) {
  TRY(const ByteSpan body, unseal(bytes));
  if (body.size() < 3) return bad("too short");
  if (static_cast<std::uint8_t>(body[0]) != kPartitionsProtocol) return bad("protocol");
  const auto version = static_cast<std::uint8_t>(body[1]);
  if (version != kVersion) {
    return fail(Errc::kUnsupported, fmt::format("message of partitions: version {}", version));
  }
  return body.subspan(2);
}

Result<void> take_head(Reader& reader, PartitionReply& reply) {
  const std::uint8_t kind = reader.u8();
  if (kind > std::variant_size_v<PartitionCall>) return bad("kind of a reply");
  reply.kind = kind;
  const std::uint8_t refusal = reader.u8();
  if (refusal > static_cast<std::uint8_t>(Refusal::kExpired)) return bad("refusal");
  reply.refusal = static_cast<Refusal>(refusal);
  const std::uint8_t status = reader.u8();
  std::string context = take_text(reader);
  if (status > 1 + static_cast<std::uint8_t>(kErrcLast)) return bad("status");
  if (status == 0 && !context.empty()) return bad("a text beside OK");
  if (status != 0) reply.status = fail(static_cast<Errc>(status - 1), std::move(context));
  reply.incarnation = reader.u64();
  reply.session = reader.u64();
  const bool known = reader.flag();
  const std::uint64_t last_change = reader.u64();
  if (known) reply.last_change = last_change;
  if (!known && last_change != 0) return bad("an unknown change");
  reply.moment = reader.u64();
  reply.stopped = reader.flag();
  reply.info = take_info(reader);
  reply.start = reader.u64();
  reply.end = reader.u64();
  reply.needs = reader.u64();
  return {};
}

void append_head(Encoder& encoder, const PartitionReply& reply) {
  encoder.u8(static_cast<std::uint8_t>(reply.refusal));
  encoder.u8(reply.status ? std::uint8_t{0}
                          : static_cast<std::uint8_t>(
                                1 + static_cast<std::uint8_t>(reply.status.error().code)));
  encoder.sized(reply.status ? std::string_view() : std::string_view(reply.status.error().context));
  encoder.u64(reply.incarnation).u64(reply.session);
  encoder.flag(reply.last_change.has_value()).u64(reply.last_change.value_or(0));
  encoder.u64(reply.moment).flag(reply.stopped);
  append(encoder, reply.info);
  encoder.u64(reply.start).u64(reply.end).u64(reply.needs);
}

template <class T>
void append_all(Encoder& encoder, const std::vector<T>& items) {
  encoder.u32(static_cast<std::uint32_t>(items.size()));
  for (const T& item : items) append(encoder, item);
}

}  // namespace

ChangeNumber* change_of(PartitionCall& call) {
  if (auto* write = std::get_if<WriteCall>(&call)) return &write->change;
  if (auto* commit = std::get_if<CommitOffsetCall>(&call)) return &commit->change;
  if (auto* forget = std::get_if<ForgetConsumerCall>(&call)) return &forget->change;
  if (auto* trim = std::get_if<TrimCall>(&call)) return &trim->change;
  return nullptr;
}

Slice encode(const PartitionRequest& request) {
  Encoder encoder = begin(kind_of(request.call));
  encoder.u64(request.tablet.value).u32(request.partition).u32(request.timeout_us);
  std::visit([&](const auto& call) { append(encoder, call); }, request.call);
  return seal(std::move(encoder));
}

Result<PartitionRequest> decode_partition_request(const Slice& bytes) {
  TRY(const ByteSpan body, body_of(bytes));
  Reader reader(bytes, body);
  const std::uint8_t kind = reader.u8();
  PartitionRequest request;
  request.tablet = TabletId{reader.u64()};
  request.partition = reader.u32();
  request.timeout_us = reader.u32();
  TRY(request.call, take_call(reader, kind));
  if (!reader.finished()) return bad("length of a request");
  return request;
}

Slice encode(const PartitionReply& reply) {
  Encoder encoder = begin(reply.kind);
  append_head(encoder, reply);
  append_all(encoder, reply.answers);
  append_all(encoder, reply.entries);
  append_all(encoder, reply.consumers);
  encoder.flag(reply.more);
  append_all(encoder, reply.moved);
  return seal(std::move(encoder));
}

std::size_t encoded_size(const StoredEntry& entry) {
  return kEntryBytesMin + entry.source_id.size() + entry.payload.size();
}

Result<PartitionReply> decode_partition_reply(const Slice& bytes) {
  TRY(const ByteSpan body, body_of(bytes));
  Reader reader(bytes, body);
  PartitionReply reply;
  TRY_VOID(take_head(reader, reply));
  const std::uint32_t answers = reader.count(kAnswerBytesMin);
  if (answers > kWritesPerCallMax) return bad("too many answers");
  for (std::uint32_t i = 0; i < answers; ++i) {
    TRY(WriteAnswer answer, take_answer(reader));
    reply.answers.push_back(std::move(answer));
  }
  const std::uint32_t entries = reader.count(kEntryBytesMin);
  if (entries > kEntriesPerReplyMax) return bad("too many entries");
  for (std::uint32_t i = 0; i < entries; ++i) {
    TRY(StoredEntry entry, take_entry(reader));
    reply.entries.push_back(std::move(entry));
  }
  const std::uint32_t consumers = reader.count(kConsumerBytesMin);
  if (consumers > kConsumersPerReplyMax) return bad("too many consumers");
  for (std::uint32_t i = 0; i < consumers; ++i) reply.consumers.push_back(take_consumer(reader));
  reply.more = reader.flag();
  const std::uint32_t moved = reader.count(kMovedBytes);
  if (moved > kWatchedPerCallMax) return bad("too many moved partitions");
  for (std::uint32_t i = 0; i < moved; ++i) reply.moved.push_back(take_moved(reader));
  if (!reader.finished()) return bad("length of a reply");
  return reply;
}

}  // namespace moraine

#include "transaction/tablet_messages.h"

#include <algorithm>
#include <cstring>

#include "base/coding.h"
#include "base/sealed.h"
#include "table/model/schema_codec.h"
#include "transaction/row_codec.h"

namespace moraine {
namespace {

using table::ChangeKind;
using table::LockMode;
using table::RowChange;

constexpr std::uint8_t kVersion = 4;
constexpr std::size_t kChangeBytesMin = 6;
constexpr std::size_t kWriteBytesMin = 16 + 8 + 8 + 8 + 4;
constexpr std::size_t kRowBytesMin = 1 + 4;
constexpr std::size_t kFilterBytesMin = 2 + 1 + 1;
constexpr std::size_t kConditionBytesMin = 2 + 4;
constexpr std::size_t kIntervalBytesMin = 2 * (1 + 1);
constexpr std::uint8_t kCutAfter = 1;
constexpr std::uint8_t kCutEnd = 2;
constexpr std::uint8_t kCacheAsTheTableSays = 2;

std::unexpected<Error> bad(std::string_view what) {
  return fail(Errc::kCorrupt, fmt::format("message of tables: {}", what));
}

void append(Encoder& encoder, const TransactionId& id) {
  encoder.raw(std::as_bytes(std::span(id.bytes)));
}

TransactionId take_id(Decoder& decoder) {
  TransactionId id;
  const ByteSpan bytes = decoder.raw(id.bytes.size());
  if (!bytes.empty()) std::memcpy(id.bytes.data(), bytes.data(), bytes.size());
  return id;
}

std::string take_text(Decoder& decoder) {
  return std::string(as_text(decoder.sized()));
}

void append(Encoder& encoder, const TabletWrite& write) {
  append(encoder, write.transaction);
  encoder.u64(write.start).u64(write.requested);
  encoder.u64(write.schema ? table::schema_fingerprint(*write.schema) : write.schema_fingerprint);
  encoder.u32(static_cast<std::uint32_t>(write.changes.size()));
  for (const RowChange& change : write.changes) table::append_change(encoder, change);
}

Result<RowChange> take_change(Decoder& decoder) {
  RowChange change;
  const std::uint8_t kind = decoder.u8();
  if (kind < static_cast<std::uint8_t>(ChangeKind::kWrite) ||
      kind > static_cast<std::uint8_t>(ChangeKind::kLock)) {
    return bad("kind of a change");
  }
  change.kind = static_cast<ChangeKind>(kind);
  change.key = take_text(decoder);
  const std::size_t locks = decoder.u8();
  std::size_t lock_min = 0;
  for (std::size_t i = 0; i < locks; ++i) {
    const std::size_t lock = decoder.u8();
    const std::uint8_t mode = decoder.u8();
    const bool known = mode > 0 && mode <= static_cast<std::uint8_t>(LockMode::kExclusive);
    if (!known || lock < lock_min || lock >= table::kLocksMax) return bad("locks of a change");
    change.locks.modes[lock] = static_cast<LockMode>(mode);
    lock_min = lock + 1;
  }
  if (change.kind == ChangeKind::kWrite) change.image = take_text(decoder);
  if (decoder.failed()) return bad("a change is cut short");
  return change;
}

Result<TabletWrite> take_write(Decoder& decoder) {
  TabletWrite write;
  write.transaction = take_id(decoder);
  write.start = decoder.u64();
  write.requested = decoder.u64();
  write.schema_fingerprint = decoder.u64();
  const std::uint32_t count = decoder.count(kChangeBytesMin);
  write.changes.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    TRY(RowChange change, take_change(decoder));
    write.changes.push_back(std::move(change));
  }
  return write;
}

void append(Encoder& encoder, const std::vector<table::ColumnIndex>& columns) {
  encoder.u32(static_cast<std::uint32_t>(columns.size()));
  for (const table::ColumnIndex column : columns) encoder.u16(column);
}

std::vector<table::ColumnIndex> take_columns(Decoder& decoder) {
  std::vector<table::ColumnIndex> columns(decoder.count(sizeof(table::ColumnIndex)));
  for (table::ColumnIndex& column : columns) column = decoder.u16();
  return columns;
}

void append(Encoder& encoder, const CommitCall& call) {
  append(encoder, call.write);
}
void append(Encoder& encoder, const PrepareCall& call) {
  encoder.u64(call.coordinator.value);
  append(encoder, call.write);
}
void append(Encoder& encoder, const CommitPreparedCall& call) {
  append(encoder, call.id);
  encoder.u64(call.commit);
}
void append(Encoder& encoder, const AbortPreparedCall& call) {
  append(encoder, call.id);
}
void append(Encoder& encoder, const DecideCall& call) {
  encoder.u32(static_cast<std::uint32_t>(call.participants.size()));
  for (const Participant& participant : call.participants) {
    encoder.u64(participant.tablet.value);
    append(encoder, participant.write);
  }
}
void append(Encoder& encoder, const OutcomeCall& call) {
  append(encoder, call.id);
}
void append(Encoder&, const NextTimestampCall&) {}
void append(Encoder& encoder, const ReadTimes& times) {
  encoder.u64(times.timestamp).u64(times.retention_timestamp).flag(times.in_transaction);
}
void append(Encoder& encoder, const LookupCall& call) {
  encoder.u64(call.schema);
  append(encoder, call.times);
  append(encoder, call.columns);
  const std::optional<bool>& cache = call.use_lookup_cache;
  encoder.u8(cache ? static_cast<std::uint8_t>(*cache) : kCacheAsTheTableSays);
  encoder.u32(static_cast<std::uint32_t>(call.keys.size()));
  for (const std::string& key : call.keys) encoder.sized(key);
}
void append(Encoder& encoder, const table::ValueCut& cut) {
  encoder.u8(static_cast<std::uint8_t>((cut.after ? kCutAfter : 0) | (cut.end ? kCutEnd : 0)));
  append_value(encoder, cut.value);
}
void append(Encoder& encoder, const ScanCall& call) {
  encoder.u64(call.schema);
  append(encoder, call.times);
  append(encoder, call.columns);
  encoder.sized(call.bounds.from).sized(call.bounds.to).u64(call.row_limit);
  encoder.u32(static_cast<std::uint32_t>(call.filters.size()));
  for (const table::ColumnFilter& filter : call.filters) {
    encoder.u16(filter.column).u8(static_cast<std::uint8_t>(filter.op));
    append_value(encoder, filter.value);
  }
  encoder.u32(static_cast<std::uint32_t>(call.conditions.size()));
  for (const table::ColumnCondition& condition : call.conditions) {
    const std::vector<table::ValueInterval>& intervals = condition.values.intervals();
    encoder.u16(condition.column).u32(static_cast<std::uint32_t>(intervals.size()));
    for (const table::ValueInterval& interval : intervals) {
      append(encoder, interval.from);
      append(encoder, interval.to);
    }
  }
}
void append(Encoder& encoder, const VersionsCall& call) {
  encoder.u64(call.schema).u64(call.timestamp).sized(call.key);
}

ReadTimes take_times(Decoder& decoder) {
  ReadTimes times;
  times.timestamp = decoder.u64();
  times.retention_timestamp = decoder.u64();
  times.in_transaction = decoder.flag();
  return times;
}

Result<TabletCall> take_prepare(Decoder& decoder) {
  PrepareCall call;
  call.coordinator = TabletId{decoder.u64()};
  TRY(call.write, take_write(decoder));
  return call;
}

Result<TabletCall> take_decide(Decoder& decoder) {
  DecideCall call;
  const std::uint32_t count = decoder.count(sizeof(std::uint64_t) + kWriteBytesMin);
  if (count > kParticipantsMax) return bad("too many participants");
  for (std::uint32_t i = 0; i < count; ++i) {
    Participant participant;
    participant.tablet = TabletId{decoder.u64()};
    TRY(participant.write, take_write(decoder));
    call.participants.push_back(std::move(participant));
  }
  return call;
}

Result<TabletCall> take_lookup(Decoder& decoder) {
  LookupCall call;
  call.schema = decoder.u64();
  call.times = take_times(decoder);
  call.columns = take_columns(decoder);
  if (call.columns.size() > kColumnsPerCallMax) return bad("too many columns");
  const std::uint8_t cache = decoder.u8();
  if (cache > kCacheAsTheTableSays) return bad("use of the cache");
  if (cache != kCacheAsTheTableSays) call.use_lookup_cache = cache != 0;
  const std::uint32_t count = decoder.count(sizeof(std::uint32_t));
  if (count > kKeysPerCallMax || count > keys_for(call.columns.size())) {
    return bad("too many keys");
  }
  for (std::uint32_t i = 0; i < count; ++i) call.keys.push_back(take_text(decoder));
  return call;
}

bool take_cut(Decoder& decoder, table::ValueCut& cut) {
  const std::uint8_t flags = decoder.u8();
  cut.after = flags == kCutAfter;
  cut.end = flags == kCutEnd;
  return flags <= kCutEnd && take_value(decoder, cut.value) && (!cut.end || cut.value.is_null());
}

Result<void> take_conditions(Decoder& decoder, ScanCall& call) {
  const std::uint32_t count = decoder.count(kConditionBytesMin);
  if (call.filters.size() + count > kFiltersPerCallMax) return bad("too many conditions");
  std::size_t total = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    table::ColumnCondition& condition = call.conditions.emplace_back();
    condition.column = decoder.u16();
    std::vector<table::ValueInterval> intervals(decoder.count(kIntervalBytesMin));
    total += intervals.size();
    if (total > kIntervalsPerCallMax) return bad("too many intervals");
    for (table::ValueInterval& interval : intervals) {
      if (!take_cut(decoder, interval.from) || !take_cut(decoder, interval.to)) {
        return bad("interval of a condition");
      }
    }
    const std::size_t sent = intervals.size();
    // Equal numbers mean that nothing was joined, dropped or out of order.
    const bool ascending = std::ranges::is_sorted(
        intervals, [](const auto& a, const auto& b) { return compare(a.from, b.from) < 0; });
    condition.values = table::ValueSet::of(std::move(intervals));
    if (!ascending || condition.values.intervals().size() != sent) {
      return bad("intervals of a condition");
    }
  }
  return {};
}

Result<TabletCall> take_scan(Decoder& decoder) {
  ScanCall call;
  call.schema = decoder.u64();
  call.times = take_times(decoder);
  call.columns = take_columns(decoder);
  if (call.columns.size() > kColumnsPerCallMax) return bad("too many columns");
  call.bounds.from = take_text(decoder);
  call.bounds.to = take_text(decoder);
  call.row_limit = decoder.u64();
  const std::uint32_t count = decoder.count(kFilterBytesMin);
  if (count > kFiltersPerCallMax) return bad("too many filters");
  for (std::uint32_t i = 0; i < count; ++i) {
    table::ColumnFilter& filter = call.filters.emplace_back();
    filter.column = decoder.u16();
    const std::uint8_t op = decoder.u8();
    if (op > static_cast<std::uint8_t>(Filter::Op::kIsNotNull)) return bad("op of a filter");
    filter.op = static_cast<Filter::Op>(op);
    if (!take_value(decoder, filter.value)) return bad("value of a filter");
  }
  TRY_VOID(take_conditions(decoder, call));
  return call;
}

Result<TabletCall> take_versions_call(Decoder& decoder) {
  VersionsCall call;
  call.schema = decoder.u64();
  call.timestamp = decoder.u64();
  call.key = take_text(decoder);
  return call;
}

Result<TabletCall> take_call(Decoder& decoder, std::uint8_t kind) {
  switch (kind) {
    case 1: {
      CommitCall call;
      TRY(call.write, take_write(decoder));
      return call;
    }
    case 2: return take_prepare(decoder);
    case 3: {
      const TransactionId id = take_id(decoder);
      return CommitPreparedCall{id, decoder.u64()};
    }
    case 4: return AbortPreparedCall{take_id(decoder)};
    case 5: return take_decide(decoder);
    case 6: return OutcomeCall{take_id(decoder)};
    case 7: return NextTimestampCall{};
    case 8: return take_lookup(decoder);
    case 9: return take_scan(decoder);
    case 10: return take_versions_call(decoder);
    default: return bad("kind");
  }
}

// Whether read_image() may read it.
bool is_image(ByteSpan image) {
  Decoder decoder(image);
  const std::size_t count = decoder.u16();
  std::size_t column_min = 0;
  for (std::size_t i = 0; i < count && !decoder.failed(); ++i) {
    const std::size_t column = decoder.u16();
    const std::uint8_t flags = decoder.u8();
    const std::uint8_t type = decoder.u8();
    if (column < column_min || flags != 0) return false;
    column_min = column + 1;
    switch (static_cast<ValueType>(type)) {
      case ValueType::kNull: return false;
      case ValueType::kInt64:
      case ValueType::kUint64:
      case ValueType::kDouble: decoder.u64(); break;
      case ValueType::kBoolean: decoder.flag(); break;
      case ValueType::kString:
      case ValueType::kAny: decoder.sized(); break;
      default: return false;
    }
  }
  return decoder.finished();
}

Encoder begin(std::size_t kind) {
  Encoder encoder;
  encoder.u8(kTablesProtocol).u8(kVersion).u8(static_cast<std::uint8_t>(kind + 1));
  return encoder;
}

// The bytes between the version and the checksum.
Result<ByteSpan> body_of(ByteSpan bytes) {
  TRY(const ByteSpan body, unseal(bytes));
  if (body.size() < 3) return bad("too short");
  if (static_cast<std::uint8_t>(body[0]) != kTablesProtocol) return bad("protocol");
  const auto version = static_cast<std::uint8_t>(body[1]);
  if (version != kVersion) {
    return fail(Errc::kUnsupported, fmt::format("message of tables: version {}", version));
  }
  return body.subspan(2);
}

}  // namespace

Slice encode(const TabletRequest& request) {
  Encoder encoder = begin(request.call.index());
  encoder.u64(request.tablet.value).u32(request.timeout_us);
  std::visit([&](const auto& call) { append(encoder, call); }, request.call);
  return seal(std::move(encoder));
}

Result<TabletRequest> decode_tablet_request(const Slice& bytes) {
  TRY(const ByteSpan body, body_of(bytes));
  Decoder decoder(body);
  const std::uint8_t kind = decoder.u8();
  TabletRequest request;
  request.tablet = TabletId{decoder.u64()};
  request.timeout_us = decoder.u32();
  TRY(request.call, take_call(decoder, kind));
  if (!decoder.finished()) return bad("length of a request");
  if (auto* scan = std::get_if<ScanCall>(&request.call)) scan->memory = bytes;
  return request;
}

Slice encode(const TabletReply& reply) {
  Encoder encoder = begin(reply.kind);
  encoder.u8(reply.status ? std::uint8_t{0}
                          : static_cast<std::uint8_t>(
                                1 + static_cast<std::uint8_t>(reply.status.error().code)));
  encoder.sized(reply.status ? std::string_view() : std::string_view(reply.status.error().context));
  encoder.u64(reply.timestamp).u8(static_cast<std::uint8_t>(reply.outcome));
  encoder.u32(static_cast<std::uint32_t>(reply.rows.size()));
  for (const FoundRow& row : reply.rows) encoder.flag(row.exists).sized(row.image);
  append_page(encoder, reply.page);
  append_versions(encoder, reply.versions);
  return seal(std::move(encoder));
}

namespace {

Result<void> take_status(Decoder& decoder, TabletReply& reply) {
  const std::uint8_t kind = decoder.u8();
  if (kind == 0 || kind > std::variant_size_v<TabletCall>) return bad("kind of a reply");
  reply.kind = kind - 1u;
  const std::uint8_t status = decoder.u8();
  std::string context = take_text(decoder);
  if (status > 1 + static_cast<std::uint8_t>(kErrcLast)) return bad("status");
  if (status == 0 && !context.empty()) return bad("a text beside OK");
  if (status != 0) reply.status = fail(static_cast<Errc>(status - 1), std::move(context));
  return {};
}

}  // namespace

Result<TabletReply> decode_tablet_reply(const Slice& bytes) {
  TRY(const ByteSpan body, body_of(bytes));
  Decoder decoder(body);
  TabletReply reply;
  TRY_VOID(take_status(decoder, reply));
  reply.timestamp = decoder.u64();
  const std::uint8_t outcome = decoder.u8();
  if (outcome > static_cast<std::uint8_t>(TransactionOutcome::Kind::kUndecided)) {
    return bad("outcome");
  }
  reply.outcome = static_cast<TransactionOutcome::Kind>(outcome);
  const std::uint32_t count = decoder.count(kRowBytesMin);
  for (std::uint32_t i = 0; i < count; ++i) {
    FoundRow row;
    row.exists = decoder.flag();
    row.image = take_text(decoder);
    if (row.exists ? !is_image(as_bytes(row.image)) : !row.image.empty()) return bad("a row");
    reply.rows.push_back(std::move(row));
  }
  if (!take_page(decoder, reply.page)) return bad("a page");
  if (!take_versions(decoder, reply.versions)) return bad("versions");
  if (!decoder.finished()) return bad("length of a reply");
  reply.memory = bytes;
  return reply;
}

}  // namespace moraine

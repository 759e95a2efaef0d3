// Messages in parts: stored under keys of their own until the last part arrives.

#include <algorithm>

#include "base/checksum.h"
#include "queue/stored_partition.h"

namespace moraine::queue {

void StoredPartition::drop_open_message(Cycle& cycle, const std::string& source_id) {
  const auto found = open_messages_.find(source_id);
  if (found == open_messages_.end()) return;
  cycle.commands.emplace_back(
      DeleteKeys{KeyRange::prefix(part_key_prefix(index_, found->second.slot))});
  open_messages_.erase(found);
}

// Drops the message that has been idle longest: its producer may be dead.
void StoredPartition::drop_idle_message(Cycle& cycle) {
  if (open_messages_.size() < kOpenMessagesMax) return;
  const auto oldest = std::ranges::min_element(
      open_messages_, {}, [](const auto& message) { return message.second.touched; });
  if (world_.executor.now() - oldest->second.touched < kOpenMessageIdle) return;
  drop_open_message(cycle, std::string(oldest->first));
}

// Parts are stored under keys of their own until the last one arrives; then one transaction joins
// them to a message, which takes its offset.
WriteAnswer StoredPartition::take_part(Cycle& cycle, WriteRequest& request) {
  const Producer& producer = request.producer;
  const std::string& id = producer.source_id;
  const Source* known = producer.numbering == Numbering::kNone ? nullptr : source(cycle, id);
  const Judgement judged = judge_write(known, request);
  if (judged.status != WriteStatus::kOk) {
    WriteAnswer answer = refused(judged.status, judged.detail);
    answer.offset = judged.offset;
    if (known) answer.max_number = known->max_number;
    cycle.confirm = cycle.confirm || judged.status == WriteStatus::kOutOfOrder;
    drop_open_message(cycle, id);
    return answer;
  }
  if (request.part == 0) {
    drop_open_message(cycle, id);
    drop_idle_message(cycle);
    if (open_messages_.size() >= kOpenMessagesMax) {
      return refused(WriteStatus::kOverloaded, "too many messages in parts are incomplete");
    }
    open_messages_[id] = {next_slot_++, producer, request.parts, 0, 0, 0, {}};
  }
  const auto found = open_messages_.find(id);
  const bool next = found != open_messages_.end() && found->second.next == request.part &&
                    found->second.parts == request.parts &&
                    found->second.producer.number == producer.number;
  if (!next || found->second.bytes + request.payload.size() > kEntryBytesMax) {
    drop_open_message(cycle, id);
    return refused(WriteStatus::kInvalid, "not the next part of a message");
  }
  OpenMessage& message = found->second;
  message.touched = world_.executor.now();
  message.crc = crc32c(request.payload, message.crc);
  message.bytes += request.payload.size();
  cycle.new_bytes += request.payload.size();
  cycle.commands.emplace_back(
      WriteKey{part_key(index_, message.slot, message.next++), request.payload, true});
  WriteAnswer answer;
  if (message.next < message.parts) return answer;
  WriteRequest whole;
  whole.max_timestamp_ms = request.max_timestamp_ms;
  whole.producer = producer;
  answer = take_write(cycle, whole);
  cycle.whole = std::move(cycle.entries.back());
  cycle.entries.pop_back();
  return answer;
}

void StoredPartition::add_whole_message(Cycle& cycle) {
  const OpenMessage message = open_messages_.extract(cycle.whole->source_id).mapped();
  const auto bytes = static_cast<std::uint32_t>(message.bytes);
  Slice front = encode_piece_front(*cycle.whole, bytes, message.crc);
  StoredBlob blob;
  blob.name = {index_, cycle.whole->offset, 1,
               std::max<std::int64_t>(cycle.whole->max_timestamp_ms, 0), false};
  blob.bytes = front.size() + message.bytes;
  blob.written_ms = cycle.now_ms;
  blob.pieces = {{blob.name.offset, 1, 0, blob.bytes}};
  ConcatKeys join;
  join.inputs.push_back(key_prefix('x', index_) + "front");
  for (std::uint32_t part = 0; part < message.parts; ++part) {
    join.inputs.push_back(part_key(index_, message.slot, part));
  }
  join.output = blob.key();
  cycle.commands.emplace_back(WriteKey{join.inputs.front(), std::move(front), true});
  cycle.commands.emplace_back(std::move(join));
  cycle.layout.added.push_back(std::move(blob));
}

}  // namespace moraine::queue

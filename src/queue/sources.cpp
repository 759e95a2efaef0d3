#include "queue/sources.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checksum.h"
#include "base/coding.h"

namespace moraine::queue {
namespace {

constexpr std::uint8_t kVersion = 1;

std::uint32_t sequence_after(std::uint64_t sequence, std::uint32_t count) {
  return static_cast<std::uint32_t>((sequence + count) % kSequenceEnd);
}

Judgement judge_sequence(const Source* known, const Producer& producer, std::uint32_t count) {
  const auto first = static_cast<std::uint32_t>(producer.number);
  const std::uint32_t last = sequence_after(first, count - 1);
  if (!known) return {};
  if (producer.epoch < known->epoch) {
    return {WriteStatus::kStaleEpoch, std::nullopt,
            fmt::format("epoch {} after {}", producer.epoch, known->epoch)};
  }
  if (producer.epoch > known->epoch) {
    if (first == 0) return {};
    return {WriteStatus::kOutOfOrder, std::nullopt,
            fmt::format("epoch {} begins with sequence {}", producer.epoch, first)};
  }
  for (const SentBatch& sent : known->window) {
    if (sent.first == first && sent.last == last) return {WriteStatus::kDuplicate, sent.offset, {}};
  }
  if (first == sequence_after(known->max_number, 1)) return {};
  return {WriteStatus::kOutOfOrder, std::nullopt,
          fmt::format("sequence {} after {}", first, known->max_number)};
}

}  // namespace

Slice encode_source(const Source& source) {
  Encoder encoder;
  encoder.u8(kVersion).u8(static_cast<std::uint8_t>(source.numbering)).u64(source.max_number);
  encoder.u64(source.offset).u64(source.written_ms).fixed(source.epoch);
  encoder.u8(static_cast<std::uint8_t>(source.window.size()));
  for (const SentBatch& sent : source.window) {
    encoder.u32(sent.first).u32(sent.last).u64(sent.offset);
  }
  encoder.u32(crc32c(encoder.span()));
  return encoder.slice();
}

Result<Source> decode_source(ByteSpan bytes) {
  Decoder decoder(bytes);
  if (const std::uint8_t version = decoder.u8(); version != kVersion) {
    return fail(Errc::kUnsupported, fmt::format("source of version {}", version));
  }
  Source source;
  const std::uint8_t numbering = decoder.u8();
  source.numbering = static_cast<Numbering>(numbering);
  source.max_number = decoder.u64();
  source.offset = decoder.u64();
  source.written_ms = decoder.u64();
  source.epoch = decoder.fixed<std::int32_t>();
  const std::uint8_t count = decoder.u8();
  for (std::size_t i = 0; i < count && !decoder.failed(); ++i) {
    SentBatch sent;
    sent.first = decoder.u32();
    sent.last = decoder.u32();
    sent.offset = decoder.u64();
    source.window.push_back(sent);
  }
  const std::size_t covered = decoder.position();
  const std::uint32_t crc = decoder.u32();
  const bool sane = decoder.finished() && crc == crc32c(bytes.first(covered)) &&
                    numbering <= static_cast<std::uint8_t>(Numbering::kSequence) &&
                    count <= kSequenceWindow;
  if (!sane) return fail(Errc::kCorrupt, "source");
  return source;
}

Judgement judge(const Source* known, const Producer& producer, std::uint32_t count) {
  if (producer.numbering == Numbering::kNone) return {};
  if (known && known->numbering != producer.numbering) {
    return {WriteStatus::kInvalid, std::nullopt, "the source has used another kind of numbering"};
  }
  if (producer.numbering == Numbering::kSequence) return judge_sequence(known, producer, count);
  if (!known || producer.number > known->max_number) return {};
  // Where an earlier number is stored is not remembered.
  const bool newest = producer.number == known->max_number;
  return {WriteStatus::kDuplicate, newest ? std::optional(known->offset) : std::nullopt, {}};
}

Source after(const Source* known, const Producer& producer, std::uint32_t count, Offset offset,
             std::uint64_t now_ms) {
  Source source;
  if (known) source = *known;
  source.numbering = producer.numbering;
  source.offset = offset;
  source.written_ms = now_ms;
  if (producer.numbering != Numbering::kSequence) {
    source.max_number = producer.number;
    return source;
  }
  if (known && producer.epoch != known->epoch) source.window.clear();
  source.epoch = producer.epoch;
  const auto first = static_cast<std::uint32_t>(producer.number);
  source.max_number = sequence_after(first, count - 1);
  source.window.push_back({first, static_cast<std::uint32_t>(source.max_number), offset});
  if (source.window.size() > kSequenceWindow) source.window.pop_front();
  return source;
}

const Source* Sources::find(const std::string& id) const {
  const auto found = sources_.find(id);
  return found == sources_.end() ? nullptr : &found->second;
}

void Sources::set(const std::string& id, Source source) {
  Source& kept = sources_[id];
  by_offset_.erase({kept.offset, id});
  sequences_.erase({kept.offset, id});
  by_offset_.emplace(source.offset, id);
  if (source.numbering == Numbering::kSequence) sequences_.emplace(source.offset, id);
  kept = std::move(source);
}

void Sources::erase(const std::string& id) {
  const auto found = sources_.find(id);
  if (found == sources_.end()) return;
  by_offset_.erase({found->second.offset, id});
  sequences_.erase({found->second.offset, id});
  sources_.erase(found);
}

bool Sources::idle(const Source& source, std::uint64_t now_ms, const PartitionConfig& config) {
  const std::uint64_t lifetime = source.numbering == Numbering::kSequence
                                     ? std::min(config.source_lifetime_ms, kSequenceLifetimeMs)
                                     : config.source_lifetime_ms;
  return source.written_ms <= now_ms && now_ms - source.written_ms > lifetime;
}

void Sources::forget_by_count(const std::string& id) {
  erase(id);
  const std::size_t hash = std::hash<std::string>()(id);
  if (!forgotten_.insert(hash).second) return;
  forgotten_order_.push_back(hash);
  if (forgotten_order_.size() > kForgottenSourcesMax) {
    forgotten_.erase(forgotten_order_.front());
    forgotten_order_.pop_front();
  }
}

bool Sources::take_forgotten(const std::string& id) {
  return !forgotten_.empty() && forgotten_.erase(std::hash<std::string>()(id)) != 0;
}

std::vector<Sources::Stale> Sources::stale(Offset start, std::uint64_t now_ms,
                                           const PartitionConfig& config, std::size_t most,
                                           std::uint64_t allowed) const {
  std::vector<Stale> ids;
  const std::uint64_t sources_max = std::min(config.sources_max, allowed);
  auto rest = by_offset_.begin();
  for (; rest != by_offset_.end() && ids.size() < most; ++rest) {
    const auto& [offset, id] = *rest;
    const bool too_many = sources_.size() - ids.size() > sources_max;
    const bool ended = offset < start && idle(sources_.at(id), now_ms, config);
    if (!too_many && !ended) break;
    ids.push_back({id, !ended});
  }
  if (rest == by_offset_.end()) return ids;
  // It is behind one that expires later.
  for (auto next = sequences_.lower_bound(*rest); next != sequences_.end(); ++next) {
    const auto& [offset, id] = *next;
    const bool goes = offset < start && idle(sources_.at(id), now_ms, config);
    if (ids.size() >= most || !goes) break;
    ids.push_back({id, false});
  }
  return ids;
}

}  // namespace moraine::queue

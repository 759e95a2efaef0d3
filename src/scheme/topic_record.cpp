#include "scheme/topic_record.h"

#include "base/coding.h"
#include "base/sealed.h"
#include "scheme/tablet_record.h"

namespace moraine {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kConfigBytesMin = 2 * sizeof(std::uint32_t);
constexpr std::size_t kConsumerBytesMin = sizeof(std::uint32_t) + 1;

// Strictly after all names of the map: each map has one encoding.
template <class Map>
bool follows(const Map& map, const std::string& name) {
  return map.empty() || map.rbegin()->first < name;
}

Result<TopicSpec> take_spec(Decoder& decoder) {
  TopicSpec spec;
  const std::uint32_t configs = decoder.count(kConfigBytesMin);
  for (std::uint32_t i = 0; i < configs; ++i) {
    std::string name(as_text(decoder.sized()));
    if (!follows(spec.config, name)) return fail(Errc::kCorrupt, "topic configs out of order");
    spec.config.emplace(std::move(name), as_text(decoder.sized()));
  }
  const std::uint32_t consumers = decoder.count(kConsumerBytesMin);
  for (std::uint32_t i = 0; i < consumers; ++i) {
    std::string name(as_text(decoder.sized()));
    if (!follows(spec.consumers, name)) return fail(Errc::kCorrupt, "consumers out of order");
    spec.consumers.emplace(std::move(name), TopicConsumer{decoder.flag()});
  }
  return spec;
}

Result<std::vector<TopicTablet>> take_tablets(Decoder& decoder) {
  std::vector<TopicTablet> tablets;
  const std::uint32_t count = decoder.count(sizeof(std::uint32_t) + kTabletBytesMin);
  for (std::uint32_t i = 0; i < count; ++i) {
    TopicTablet tablet;
    tablet.partitions = decoder.u32();
    TRY(tablet.info, take_tablet(decoder));
    if (tablet.partitions == 0 || tablet.partitions > kPartitionsPerTopicMax) {
      return fail(Errc::kCorrupt, "partitions of a tablet");
    }
    tablets.push_back(std::move(tablet));
  }
  return tablets;
}

}  // namespace

Slice encode_topic(const TopicRecord& record) {
  Encoder encoder;
  encoder.u8(kVersion).u32(static_cast<std::uint32_t>(record.info.config.size()));
  for (const auto& [name, value] : record.info.config) encoder.sized(name).sized(value);
  encoder.u32(static_cast<std::uint32_t>(record.info.consumers.size()));
  for (const auto& [name, consumer] : record.info.consumers) {
    encoder.sized(name).flag(consumer.important);
  }
  encoder.u32(static_cast<std::uint32_t>(record.tablets.size()));
  for (const TopicTablet& tablet : record.tablets) {
    encoder.u32(tablet.partitions);
    append_tablet(encoder, tablet.info);
  }
  return seal(std::move(encoder));
}

Result<TopicRecord> decode_topic(const PathNode& node) {
  TRY(const ByteSpan bytes, unseal(node.record));
  Decoder decoder(bytes);
  if (decoder.u8() != kVersion) return fail(Errc::kUnsupported, "topic version");
  TRY(TopicSpec spec, take_spec(decoder));
  TopicRecord record;
  TRY(record.tablets, take_tablets(decoder));
  if (!decoder.finished()) return fail(Errc::kCorrupt, "topic length");
  std::uint64_t partitions = 0;
  for (const TopicTablet& tablet : record.tablets) partitions += tablet.partitions;
  if (partitions > kPartitionsPerTopicMax) return fail(Errc::kCorrupt, "partitions of a topic");
  spec.partitions = static_cast<std::uint32_t>(partitions);
  if (const auto checked = check_stored_spec(spec); !checked) {
    return fail(Errc::kCorrupt, checked.error().context);
  }
  record.info.name = node.path;
  record.info.id = node.id;
  record.info.created_ms = node.created_ms;
  record.info.partitions = spec.partitions;
  record.info.config = std::move(spec.config);
  record.info.consumers = std::move(spec.consumers);
  return record;
}

}  // namespace moraine

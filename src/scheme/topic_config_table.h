// The table of topic configs: names, defaults, meanings and what each may be. For topic_config.cpp.
//
// Invariants In the order of their names. Names, types and defaults are those of Apache Kafka 3.9,
//            beside the moraine.* ones. A config without effect says so in its meaning.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

#include "queue/partition.h"
#include "scheme/topic_config.h"

namespace moraine {

enum class ConfigForm : std::uint8_t {
  kNumber,    // From `min` to `max`.
  kFraction,  // From 0 to 1.
  kFlag,      // true or false.
  kWord,      // One of `words`, with commas between them.
  kNames,     // Distinct names.
  kReplicas,  // Pairs partition:broker, or *.
  kRelease,   // A version of Kafka.
};

struct ConfigRule {
  ConfigForm form = ConfigForm::kNumber;
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::string_view words = {};
  // Values of kWord and kFlag that are served, when not all are; of kNumber: up to `served_max`.
  std::string_view served = {};
  std::int64_t served_max = std::numeric_limits<std::int64_t>::max();
  std::string_view why_not = {};  // Why others are refused.
};

struct ConfigEntry {
  ConfigInfo info;
  ConfigRule rule;
};

namespace config_table {

inline constexpr std::int64_t kIntMax = std::numeric_limits<std::int32_t>::max();
inline constexpr std::int64_t kLongMax = std::numeric_limits<std::int64_t>::max();
inline constexpr std::string_view kLongMaxText = "9223372036854775807";

constexpr ConfigRule numbers(std::int64_t min, std::int64_t max) {
  return {.form = ConfigForm::kNumber, .min = min, .max = max};
}
constexpr ConfigRule words(std::string_view words) {
  return {.form = ConfigForm::kWord, .words = words};
}
constexpr ConfigRule form(ConfigForm form) {
  return {.form = form};
}

inline constexpr ConfigRule kDeleteOnly{
    .form = ConfigForm::kWord,
    .words = "compact,delete",
    .served = "delete",
    .why_not = "log compaction is not served: old messages are deleted by time and size"};
inline constexpr ConfigRule kOneReplica{
    .form = ConfigForm::kNumber,
    .min = 1,
    .max = kIntMax,
    .served_max = 1,
    .why_not =
        "clients see one replica, so two would never be in sync. What is acknowledged is on "
        "a quorum of the storage group's disks already"};
inline constexpr ConfigRule kNoRemote{
    .form = ConfigForm::kFlag, .served = "false", .why_not = "there is no tiered storage"};

using Type = ConfigType;

inline constexpr std::array kEntries{
    ConfigEntry{{"cleanup.policy", Type::kList, "delete",
                 "What happens to old messages; they are deleted.", "log.cleanup.policy"},
                kDeleteOnly},
    ConfigEntry{{"compression.gzip.level", Type::kInt, "-1",
                 "The level of compression.type=gzip, 1 to 9; -1 is the usual one."},
                numbers(-1, 9)},
    ConfigEntry{
        {"compression.lz4.level", Type::kInt, "9", "The level of compression.type=lz4, 1 to 17."},
        numbers(1, 17)},
    ConfigEntry{{"compression.type", Type::kString, "producer",
                 "producer: batches are stored as they came. Otherwise one that came in another "
                 "codec is compressed anew: uncompressed, gzip, snappy, lz4 or zstd."},
                words("producer,uncompressed,gzip,snappy,lz4,zstd")},
    ConfigEntry{{"compression.zstd.level", Type::kInt, "3",
                 "The level of compression.type=zstd, -131072 to 22."},
                numbers(-131'072, 22)},
    ConfigEntry{
        {"delete.retention.ms", Type::kLong, "86400000", "No effect: it concerns log compaction.",
         "log.cleaner.delete.retention.ms", false},
        numbers(0, kLongMax)},
    ConfigEntry{{"file.delete.delay.ms", Type::kLong, "60000",
                 "No effect: what is removed is freed in the background.",
                 "log.segment.delete.delay.ms", false},
                numbers(0, kLongMax)},
    ConfigEntry{
        {"flush.messages", Type::kLong, kLongMaxText,
         "No effect: every acknowledged message is durable.", "log.flush.interval.messages", false},
        numbers(1, kLongMax)},
    ConfigEntry{
        {"flush.ms", Type::kLong, kLongMaxText, "No effect: every acknowledged message is durable.",
         "log.flush.interval.ms", false},
        numbers(0, kLongMax)},
    ConfigEntry{{"follower.replication.throttled.replicas", Type::kList, "",
                 "No effect: brokers do not copy partitions from each other.", "", false},
                form(ConfigForm::kReplicas)},
    ConfigEntry{{"index.interval.bytes", Type::kInt, "4096",
                 "No effect: every stored blob has an index.", "log.index.interval.bytes", false},
                numbers(0, kIntMax)},
    ConfigEntry{{"leader.replication.throttled.replicas", Type::kList, "",
                 "No effect: brokers do not copy partitions from each other.", "", false},
                form(ConfigForm::kReplicas)},
    ConfigEntry{{"local.retention.bytes", Type::kLong, "-2",
                 "No effect: it concerns tiered storage.", "log.local.retention.bytes", false},
                numbers(-2, kLongMax)},
    ConfigEntry{{"local.retention.ms", Type::kLong, "-2", "No effect: it concerns tiered storage.",
                 "log.local.retention.ms", false},
                numbers(-2, kLongMax)},
    ConfigEntry{
        {"max.compaction.lag.ms", Type::kLong, kLongMaxText,
         "No effect: it concerns log compaction.", "log.cleaner.max.compaction.lag.ms", false},
        numbers(1, kLongMax)},
    ConfigEntry{{"max.message.bytes", Type::kInt, "1048588",
                 "The longest record batch, as it came and as it is stored.", "message.max.bytes"},
                numbers(0, std::int64_t{queue::kPayloadBytesMax})},
    ConfigEntry{{"message.downconversion.enable", Type::kBoolean, "true",
                 "No effect: batches are never converted to old formats.",
                 "log.message.downconversion.enable", false},
                form(ConfigForm::kFlag)},
    ConfigEntry{{"message.format.version", Type::kString, "3.0-IV1",
                 "No effect: the format is always that of Kafka 0.11 and later.",
                 "log.message.format.version", false},
                form(ConfigForm::kRelease)},
    ConfigEntry{{"message.timestamp.after.max.ms", Type::kLong, kLongMaxText,
                 "With CreateTime, how far after the broker's time a message may say it was made.",
                 "log.message.timestamp.after.max.ms"},
                numbers(0, kLongMax)},
    ConfigEntry{{"message.timestamp.before.max.ms", Type::kLong, kLongMaxText,
                 "With CreateTime, how far before the broker's time a message may say it was made.",
                 "log.message.timestamp.before.max.ms"},
                numbers(0, kLongMax)},
    ConfigEntry{{"message.timestamp.difference.max.ms", Type::kLong, kLongMaxText,
                 "Both bounds of message.timestamp, where those are not set.",
                 "log.message.timestamp.difference.max.ms"},
                numbers(0, kLongMax)},
    ConfigEntry{{"message.timestamp.type", Type::kString, "CreateTime",
                 "Whether messages carry the producer's time or that of writing.",
                 "log.message.timestamp.type"},
                words("CreateTime,LogAppendTime")},
    ConfigEntry{
        {"min.cleanable.dirty.ratio", Type::kDouble, "0.5",
         "No effect: it concerns log compaction.", "log.cleaner.min.cleanable.ratio", false},
        form(ConfigForm::kFraction)},
    ConfigEntry{
        {"min.compaction.lag.ms", Type::kLong, "0", "No effect: it concerns log compaction.",
         "log.cleaner.min.compaction.lag.ms", false},
        numbers(0, kLongMax)},
    ConfigEntry{{"min.insync.replicas", Type::kInt, "1",
                 "1: clients see one replica. What is acknowledged is always on a quorum of the "
                 "storage group's disks.",
                 ""},
                kOneReplica},
    ConfigEntry{{"moraine.consumers.important", Type::kList, "",
                 "Consumer groups that keep what they have not read from being removed."},
                form(ConfigForm::kNames)},
    ConfigEntry{{"moraine.low.watermark", Type::kInt, "6291456",
                 "Bytes of small blobs at a partition's end that are joined to a large one."},
                numbers(1'024, std::int64_t{8} << 20)},
    ConfigEntry{{"moraine.max.bytes", Type::kLong, "1099511627776",
                 "Bytes in one partition past which writes are refused."},
                numbers(1, kLongMax)},
    ConfigEntry{{"moraine.max.messages", Type::kLong, "1000000000000",
                 "Messages in one partition past which writes are refused."},
                numbers(1, kLongMax)},
    ConfigEntry{{"moraine.partitions.per.tablet", Type::kInt, "16",
                 "Partitions that one tablet serves. Takes effect for partitions that are added."},
                numbers(1, kPartitionsPerTabletMax)},
    ConfigEntry{{"moraine.sources.lifetime.ms", Type::kLong, "1382400000",
                 "Milliseconds after its last message for which a producer is remembered, once its "
                 "messages are removed."},
                numbers(0, kLongMax)},
    ConfigEntry{{"moraine.sources.max", Type::kLong, "6000000",
                 "Producers that one partition remembers; the longest silent are forgotten first."},
                numbers(1, 100'000'000)},
    ConfigEntry{{"moraine.write.quota", Type::kLong, "0",
                 "Bytes a second that one partition accepts; 0 is no quota."},
                numbers(0, kLongMax)},
    ConfigEntry{{"preallocate", Type::kBoolean, "false",
                 "No effect: the node's device is allocated as a whole.", "log.preallocate", false},
                form(ConfigForm::kFlag)},
    ConfigEntry{{"remote.log.copy.disable", Type::kBoolean, "false",
                 "No effect: it concerns tiered storage.", "", false},
                form(ConfigForm::kFlag)},
    ConfigEntry{{"remote.log.delete.on.disable", Type::kBoolean, "false",
                 "No effect: it concerns tiered storage.", "", false},
                form(ConfigForm::kFlag)},
    ConfigEntry{
        {"remote.storage.enable", Type::kBoolean, "false", "false: there is no tiered storage."},
        kNoRemote},
    ConfigEntry{{"retention.bytes", Type::kLong, "-1",
                 "Bytes that one partition keeps; -1 is no limit.", "log.retention.bytes"},
                numbers(-1, kLongMax)},
    ConfigEntry{{"retention.ms", Type::kLong, "604800000",
                 "Milliseconds for which a message is kept; -1 is for ever.", "log.retention.ms"},
                numbers(-1, kLongMax)},
    ConfigEntry{
        {"segment.bytes", Type::kInt, "1073741824",
         "No effect: partitions choose their own units of storage.", "log.segment.bytes", false},
        numbers(14, kIntMax)},
    ConfigEntry{{"segment.index.bytes", Type::kInt, "10485760",
                 "No effect: partitions choose their own units of storage.",
                 "log.index.size.max.bytes", false},
                numbers(4, kIntMax)},
    ConfigEntry{
        {"segment.jitter.ms", Type::kLong, "0",
         "No effect: partitions choose their own units of storage.", "log.roll.jitter.ms", false},
        numbers(0, kLongMax)},
    ConfigEntry{{"segment.ms", Type::kLong, "604800000",
                 "No effect: partitions choose their own units of storage.", "log.roll.ms", false},
                numbers(1, kLongMax)},
    ConfigEntry{{"unclean.leader.election.enable", Type::kBoolean, "false",
                 "No effect: a leader always has every acknowledged message.", "", false},
                form(ConfigForm::kFlag)},
};

constexpr auto infos() {
  std::array<ConfigInfo, kEntries.size()> found;
  for (std::size_t i = 0; i < kEntries.size(); ++i) found[i] = kEntries[i].info;
  return found;
}
inline constexpr auto kConfigs = infos();
static_assert(std::ranges::is_sorted(kConfigs, {}, &ConfigInfo::name));

}  // namespace config_table
}  // namespace moraine

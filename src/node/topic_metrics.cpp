#include "node/topic_metrics.h"

#include <fmt/format.h>

#include <iterator>

namespace moraine {
namespace {

using queue::PartitionInfo;

struct Field {
  const char* name;
  const char* kind;
  const char* help;
  std::uint64_t (*value)(const PartitionInfo&);
};

constexpr Field kFields[] = {
    {"moraine_topic_start_offset", "gauge", "First message that can be read",
     [](const PartitionInfo& info) { return info.start; }},
    {"moraine_topic_end_offset", "gauge", "Offset of the next message",
     [](const PartitionInfo& info) { return info.end; }},
    {"moraine_topic_stored_bytes", "gauge", "Stored bytes of the partition",
     [](const PartitionInfo& info) { return info.bytes; }},
    {"moraine_topic_head_blobs", "gauge", "Small blobs at the end",
     [](const PartitionInfo& info) { return info.head_blobs; }},
    {"moraine_topic_body_blobs", "gauge", "Large blobs",
     [](const PartitionInfo& info) { return info.body_blobs; }},
    {"moraine_topic_sources", "gauge", "Producers that are remembered",
     [](const PartitionInfo& info) { return info.sources; }},
    {"moraine_topic_written_messages_total", "counter", "Messages written since the start",
     [](const PartitionInfo& info) { return info.written_messages; }},
    {"moraine_topic_written_bytes_total", "counter", "Bytes of messages written since the start",
     [](const PartitionInfo& info) { return info.written_bytes; }},
    {"moraine_topic_duplicates_total", "counter", "Duplicate writes that were dropped",
     [](const PartitionInfo& info) { return info.duplicates; }},
    {"moraine_topic_read_messages_total", "counter", "Messages read since the start",
     [](const PartitionInfo& info) { return info.read_messages; }},
    {"moraine_topic_read_bytes_total", "counter", "Bytes read since the start",
     [](const PartitionInfo& info) { return info.read_bytes; }},
    {"moraine_topic_compactions_total", "counter", "Heads that became body blobs",
     [](const PartitionInfo& info) { return info.compactions; }},
    {"moraine_topic_rewritten_bytes_total", "counter", "Bytes written again to merge small blobs",
     [](const PartitionInfo& info) { return info.rewritten_bytes; }},
    {"moraine_topic_removed_messages_total", "counter", "Messages removed by retention or request",
     [](const PartitionInfo& info) { return info.removed_messages; }},
    {"moraine_topic_removed_bytes_total", "counter", "Bytes removed by retention or request",
     [](const PartitionInfo& info) { return info.removed_bytes; }},
};

// Calls `visit` for the partitions that are reported separately.
template <class Visit>
void each_partition(const TopicsReport& report, const Visit& visit) {
  std::size_t reported = 0;
  for (const TopicReport& topic : report.topics) {
    for (const PartitionReport& partition : topic.partitions) {
      if (!partition.running) continue;
      if (++reported > kReportedPartitionsMax) return;
      visit(topic, partition);
    }
  }
}

// A label value for Prometheus: backslash, quote and line end are escaped.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out;
}

void lags(const TopicsReport& report, std::string& out) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "# HELP moraine_topic_lag_messages Messages that a consumer has not read\n");
  fmt::format_to(to, "# TYPE moraine_topic_lag_messages gauge\n");
  std::size_t reported = 0;
  each_partition(report, [&](const TopicReport& topic, const PartitionReport& partition) {
    for (const ConsumerReport& consumer : partition.consumers) {
      if (++reported > kReportedConsumersMax) return;
      fmt::format_to(
          to, "moraine_topic_lag_messages{{topic=\"{}\",partition=\"{}\",consumer=\"{}\"}} {}\n",
          topic.topic->name, partition.index, escaped(consumer.consumer), consumer.lag);
    }
  });
}

void single(std::string& out, const char* name, const char* kind, const char* help,
            std::uint64_t value) {
  fmt::format_to(std::back_inserter(out), "# HELP {0} {2}\n# TYPE {0} {1}\n{0} {3}\n", name, kind,
                 help, value);
}

// What all partitions have together, and may have.
void sums(const TopicsReport& report, std::string& out) {
  std::uint64_t partitions = 0;
  std::uint64_t sources = 0;
  std::uint64_t consumers = 0;
  for (const TopicReport& topic : report.topics) {
    partitions += topic.partitions.size();
    for (const PartitionReport& partition : topic.partitions) {
      sources += partition.info.sources;
      consumers += partition.consumers.size();
    }
  }
  single(out, "moraine_partitions", "gauge", "Partitions of all topics", partitions);
  single(out, "moraine_partitions_max", "gauge", "Limit of the partitions of all topics",
         kPartitionsPerNodeMax);
  single(out, "moraine_sources", "gauge", "Producers that all partitions remember", sources);
  single(out, "moraine_sources_max", "gauge",
         "Producers of all partitions above which the oldest are forgotten",
         queue::kNodeSourcesMax);
  single(out, "moraine_consumers", "gauge", "Consumers of all partitions", consumers);
  single(out, "moraine_consumers_max", "gauge",
         "Committed offsets of all partitions above which new consumers are refused",
         queue::kNodeConsumersMax);
}

}  // namespace

std::string to_prometheus(const TopicsReport& report, const TopicCacheFigures& cache) {
  std::string out;
  for (const Field& field : kFields) {
    auto to = std::back_inserter(out);
    fmt::format_to(to, "# HELP {0} {1}\n# TYPE {0} {2}\n", field.name, field.help, field.kind);
    each_partition(report, [&](const TopicReport& topic, const PartitionReport& partition) {
      fmt::format_to(to, "{}{{topic=\"{}\",partition=\"{}\"}} {}\n", field.name, topic.topic->name,
                     partition.index, field.value(partition.info));
    });
  }
  lags(report, out);
  single(out, "moraine_topics", "gauge", "Topics", report.topics.size());
  sums(report, out);
  single(out, "moraine_tablets_running", "gauge", "Tablets of topics", report.tablets_running);
  single(out, "moraine_tablets_starting", "gauge", "Tablets that are being started",
         report.tablets_starting);
  single(out, "moraine_tablets_being_deleted", "gauge", "Tablets of removed topics",
         report.tablets_being_deleted);
  single(out, "moraine_queue_cache_bytes", "gauge", "Memory of the blob cache", cache.bytes);
  single(out, "moraine_queue_cache_hits_total", "counter", "Blobs found in memory", cache.hits);
  single(out, "moraine_queue_cache_misses_total", "counter", "Blobs read from disk", cache.misses);
  return out;
}

}  // namespace moraine

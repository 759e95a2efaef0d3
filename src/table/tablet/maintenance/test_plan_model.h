// A model of a tablet: chunks are sets of numbered keys, and jobs are executed on them. For tests
// of the plan.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/invariant.h"
#include "table/tablet/maintenance/compaction_plan.h"
#include "table/tablet/maintenance/dead_space.h"

namespace moraine::table {

class PlanModel {
 public:
  static constexpr std::uint64_t kStartMs = 1'700'000'000'000;
  using Key = std::uint32_t;

  explicit PlanModel(MountConfig options, std::uint64_t bytes_of_row)
      : mount(options), row_bytes(bytes_of_row) {}

  static std::string name(Key key) { return fmt::format("{:010}", key); }

  // True: a write; false: a delete. Flushed rows were written in the last second.
  void flush(const std::map<Key, bool>& rows) {
    std::map<Key, Version> versions;
    now_ms += 1'000;
    for (const auto& [key, write] : rows) {
      versions[key] = {++timestamps_, write};
      if (write) {
        live.insert(key);
      } else {
        live.erase(key);
      }
    }
    const std::uint64_t user = bytes_of(versions);
    user_bytes += user;
    log_bytes += user;
    // Adjacent tombstones get a chunk of their own (chunk_build.h).
    std::map<Key, Version> part;
    for (const auto& [key, version] : versions) {
      if (!part.empty() && part.rbegin()->second.write != version.write && part.size() >= 16) {
        add(std::exchange(part, {}));
      }
      part[key] = version;
    }
    add(std::move(part));
    written_bytes += user;
  }

  PlanInput input(bool idle) {
    PlanInput made;
    made.now_ms = now_ms;
    made.mount = &mount;
    made.idle = idle;
    const DeadSpaceReport dead = report();
    for (const std::string& pivot : pivots) made.partitions.push_back({pivot, {}, {}, false});
    std::size_t next = 0;
    for (auto& [id, chunk] : chunks) {
      const DeadSpace& space = dead.chunks[next++];
      PlannedChunk planned;
      planned.record = &chunk.record;
      planned.dead_fraction = space.dead;
      planned.deleted_fraction = space.deleted;
      planned.dead_by_eden = space.dead_by_eden;
      planned.all_expired = space.all_expired;
      const auto place = partition_of(chunk.record);
      (place ? made.partitions[*place].chunks : made.eden).push_back(planned);
    }
    return made;
  }

  // Returns the number of jobs until nothing is left to do. Requires: at most `jobs_max`.
  std::size_t settle(bool idle, std::size_t jobs_max = 10'000) {
    for (std::size_t jobs = 0;; ++jobs) {
      const PlanInput told = input(idle);
      const auto job = plan_compaction(told);
      if (!job) return jobs;
      INVARIANT(jobs < jobs_max, "the plan does not end: kind {} of {} chunks",
                static_cast<int>(job->kind), job->chunks.size());
      carry_out(*job);
    }
  }

  std::uint64_t stored_bytes() const {
    std::uint64_t sum = 0;
    for (const auto& [id, chunk] : chunks) sum += chunk.record.statistics.data_bytes;
    return sum;
  }
  std::uint64_t live_bytes() const { return live.size() * row_bytes; }
  // Keys that readers see.
  std::set<Key> visible() const {
    std::map<Key, Version> newest;
    for (const auto& [id, chunk] : chunks) merge(chunk.rows, newest);
    std::set<Key> keys;
    for (const auto& [key, version] : newest) {
      if (version.write) keys.insert(key);
    }
    return keys;
  }
  double write_amplification() const {
    return static_cast<double>(written_bytes + log_bytes) / static_cast<double>(user_bytes);
  }

  struct Version {
    Timestamp timestamp = 0;
    bool write = true;
  };
  struct Chunk {
    ChunkRecord record;
    std::map<Key, Version> rows;
    std::uint64_t retained_ms = 0;
  };

  MountConfig mount;
  const std::uint64_t row_bytes;
  std::uint64_t now_ms = kStartMs;
  std::map<std::uint64_t, Chunk> chunks;
  std::vector<std::string> pivots{std::string()};
  std::set<Key> live;
  std::uint64_t user_bytes = 0;
  std::uint64_t log_bytes = 0;
  std::uint64_t written_bytes = 0;

 private:
  std::uint64_t bytes_of(const std::map<Key, Version>& rows) const {
    std::uint64_t sum = 0;
    for (const auto& [key, version] : rows) sum += version.write ? row_bytes : row_bytes / 5;
    return sum;
  }
  static void merge(const std::map<Key, Version>& from, std::map<Key, Version>& into) {
    for (const auto& [key, version] : from) {
      Version& there = into[key];
      if (there.timestamp < version.timestamp) there = version;
    }
  }

  std::uint64_t add(std::map<Key, Version> rows, std::uint64_t retained_ms = 0) {
    if (rows.empty()) return 0;
    Chunk chunk;
    chunk.retained_ms = retained_ms;
    chunk.record.id = ++ids_;
    chunk.record.created_ms = now_ms;
    ChunkStatistics& figures = chunk.record.statistics;
    figures.rows = rows.size();
    figures.data_bytes = bytes_of(rows);
    figures.first_key = name(rows.begin()->first);
    figures.last_key = name(rows.rbegin()->first);
    figures.min_timestamp = figures.max_timestamp = timestamp_of_seconds(now_ms / 1'000);
    for (const auto& [key, version] : rows) ++(version.write ? figures.values : figures.deletes);
    chunk.rows = std::move(rows);
    const std::uint64_t id = chunk.record.id;
    chunks.emplace(id, std::move(chunk));
    return id;
  }

  std::optional<std::size_t> partition_of(const ChunkRecord& record) const {
    const auto index = [this](const std::string& key) {
      return static_cast<std::size_t>(std::ranges::upper_bound(pivots, key) - pivots.begin()) - 1;
    };
    const std::size_t first = index(record.statistics.first_key);
    if (first != index(record.statistics.last_key)) return std::nullopt;
    return first;
  }

  DeadSpaceReport report() {
    DeadSpaceInput told;
    told.retention = mount.retention();
    told.now_ms = now_ms;
    for (const auto& [id, chunk] : chunks) {
      told.chunks.push_back({&chunk.record, !partition_of(chunk.record), chunk.retained_ms});
    }
    told.in_common = [this](const ChunkRecord& young, const ChunkRecord& old) {
      const auto [known, fresh] = shares_.try_emplace({young.id, old.id}, 0.0);
      if (!fresh) return known->second;
      const auto& mine = chunks.at(young.id).rows;
      const auto& other = chunks.at(old.id).rows;
      std::size_t hits = 0;
      for (const auto& [key, version] : mine) hits += other.contains(key) ? 1 : 0;
      known->second = static_cast<double>(hits) / static_cast<double>(mine.size());
      return known->second;
    };
    return find_dead_space(told);
  }

  void carry_out(const CompactionJob& job) {
    using Kind = CompactionJob::Kind;
    if (job.kind == Kind::kMerge) {
      pivots.erase(pivots.begin() + static_cast<std::ptrdiff_t>(job.partition) + 1);
      return;
    }
    if (job.kind == Kind::kSplit && !job.pivots.empty()) {
      add_pivots(job.pivots);
      return;
    }
    std::map<Key, Version> merged;
    for (const std::uint64_t id : job.chunks) {
      if (job.kind != Kind::kDrop) merge(chunks.at(id).rows, merged);
      chunks.erase(id);
    }
    // Tombstones above remaining rows are kept.
    std::erase_if(merged, [this](const auto& item) {
      if (item.second.write) return false;
      return std::ranges::none_of(chunks, [&](const auto& other) {
        const ChunkStatistics& figures = other.second.record.statistics;
        const std::string key = name(item.first);
        return figures.first_key <= key && key <= figures.last_key;
      });
    });
    written_bytes += bytes_of(merged);
    if (job.kind == Kind::kSplit) add_pivots(parts_of(merged, job.partitions));
    cut(merged, job.kind == Kind::kPartition || job.kind == Kind::kSplit);
  }
  void add_pivots(const std::vector<std::string>& more) {
    pivots.insert(pivots.end(), more.begin(), more.end());
    std::ranges::sort(pivots);
  }
  static std::vector<std::string> parts_of(const std::map<Key, Version>& rows, std::size_t parts) {
    std::vector<std::string> keys;
    std::size_t at = 0;
    for (const auto& [key, version] : rows) {
      if (at > 0 && at % (rows.size() / parts + 1) == 0) keys.push_back(name(key));
      ++at;
    }
    return keys;
  }
  void cut(const std::map<Key, Version>& rows, bool at_pivots) {
    std::map<Key, Version> part;
    std::uint64_t bytes = 0;
    for (const auto& [key, version] : rows) {
      const bool crosses = at_pivots && !part.empty() &&
                           std::ranges::upper_bound(pivots, name(part.rbegin()->first)) !=
                               std::ranges::upper_bound(pivots, name(key));
      if (crosses || bytes >= kChunkBytesMax) {
        add(std::exchange(part, {}), now_ms);
        bytes = 0;
      }
      part[key] = version;
      bytes += version.write ? row_bytes : row_bytes / 5;
    }
    add(std::move(part), now_ms);
  }

  std::uint64_t ids_ = 0;
  Timestamp timestamps_ = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> shares_;
};

}  // namespace moraine::table

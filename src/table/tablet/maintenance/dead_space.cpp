#include "table/tablet/maintenance/dead_space.h"

#include <algorithm>
#include <chrono>

#include "base/epoch.h"
#include "table/memory/memory_store.h"
#include "table/tablet/maintenance/chunk_overlaps.h"
#include "table/tablet/maintenance/compaction_plan.h"

namespace moraine::table {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kAgeMax = std::chrono::years(1'000);

std::uint64_t whole_seconds(std::chrono::milliseconds age) {
  const auto up = std::chrono::ceil<std::chrono::seconds>(std::min(age, kAgeMax));
  return static_cast<std::uint64_t>(up.count()) * 1'000;
}

std::uint64_t ms_of(Timestamp timestamp) {
  return unix_seconds(timestamp) * 1'000;
}

// The share of the chunk's versions, assumed to be evenly spread over its timestamps, that reached
// the age `age` after `since_ms` and until `until_ms`.
double share_reaching_age(const ChunkStatistics& figures, std::uint64_t age, std::uint64_t since_ms,
                          std::uint64_t until_ms) {
  const std::uint64_t first = ms_of(figures.min_timestamp) + age;
  const std::uint64_t last = ms_of(figures.max_timestamp) + age;
  if (since_ms >= last || until_ms < first) return 0;
  if (until_ms >= last && since_ms < first) return 1;
  const double length = static_cast<double>(last - first);
  const auto place = [&](std::uint64_t at) {
    if (at <= first) return 0.0;
    return std::min(1.0, static_cast<double>(at - first) / length);
  };
  return std::max(0.0, place(until_ms) - place(since_ms));
}

constexpr std::uint64_t kReaderPauseMs = 10'000;  // While there are reads of the past.
constexpr std::uint64_t kWaitShare = 8;  // A chunk is waited for during 1/kWaitShare of the age.

std::vector<const ChunkRecord*> records_of(const DeadSpaceInput& input) {
  std::vector<const ChunkRecord*> records;
  for (const DeadSpaceChunk& chunk : input.chunks) records.push_back(chunk.record);
  return records;
}

}  // namespace

class DeadSpaceFinder::Impl {
 public:
  explicit Impl(const DeadSpaceInput& input)
      : input_(input),
        overlaps_(records_of(input)),
        min_age_(input.retention.min_data_ttl == 0ms
                     ? 0
                     // Reads of the second that has just passed the limit must still work.
                     : whole_seconds(input.retention.min_data_ttl) + 1'000),
        max_age_(std::max(min_age_,
                          whole_seconds(std::min(input.retention.max_data_ttl, kAgeMax) + 1ms))) {
    report_.chunks.resize(input.chunks.size());
    if (input.needed_ms < input.now_ms && input.needed_ms + min_age_ < input.now_ms) {
      seen_until_ms_ = input.needed_ms + min_age_;
      due(input.now_ms + kReaderPauseMs);
    } else {
      seen_until_ms_ = input.now_ms;
    }
  }

  bool run(std::size_t questions) {
    if (!one_version()) return true;
    while (young_ < input_.chunks.size()) {
      if (!begun_) begin_kills();
      const std::span<const std::uint32_t> others = overlaps_.of(young_);
      for (; of_age_ > 0 && next_ < others.size(); ++next_) {
        if (!covers(young_, others[next_])) continue;
        if (questions-- == 0) return false;
        find_kill(others[next_]);
      }
      ++young_;
      begun_ = false;
    }
    return true;
  }

  DeadSpaceReport finish() {
    for (std::size_t i = 0; i < input_.chunks.size(); ++i) find_own(i);
    find_expired();
    report_.steps += overlaps_.steps();
    for (DeadSpace& space : report_.chunks) {
      space.dead = std::min(space.dead, 1.0);
      space.dead_by_eden = std::min(space.dead_by_eden, 1.0);
      space.deleted = std::min(space.deleted, 1.0);
    }
    return std::move(report_);
  }

 private:
  const ChunkRecord& record(std::size_t i) const { return *input_.chunks[i].record; }
  // Superseded versions may be dropped when they are old enough.
  bool one_version() const {
    return input_.retention.max_data_versions <= 1 && input_.retention.min_data_versions <= 1;
  }
  bool expires() const { return input_.retention.min_data_versions == 0 && !input_.row_ttl; }
  bool younger(std::size_t a, std::size_t b) const {
    const Timestamp mine = record(a).statistics.max_timestamp;
    const Timestamp other = record(b).statistics.max_timestamp;
    return mine != other ? mine > other : record(a).id > record(b).id;
  }
  void due(std::uint64_t at_ms) {
    if (at_ms <= input_.now_ms) return;
    if (report_.next_ms == 0 || at_ms < report_.next_ms) report_.next_ms = at_ms;
  }

  // What the chunk's own statistics say.
  void find_own(std::size_t i) {
    const ChunkStatistics& figures = record(i).statistics;
    const std::uint64_t retained = input_.chunks[i].retained_ms;
    DeadSpace& space = report_.chunks[i];
    if (one_version() && figures.rows > 0) {
      // A tombstone above older rows is dropped together with what it deletes.
      const std::uint64_t deletes = has_older_beneath(i) ? 0 : figures.deletes;
      const auto share = [](std::uint64_t part, std::uint64_t all) {
        return all == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(all);
      };
      const double dead = share(figures.superseded, figures.values) + share(deletes, figures.rows);
      if (dead > 0) space.dead += std::min(1.0, dead) * superseded(figures, retained);
    }
    if (expires()) space.dead += share_of_age(figures, max_age_, retained, input_.now_ms);
  }
  bool has_older_beneath(std::size_t i) const {
    return std::ranges::any_of(overlaps_.of(i), [&](std::uint32_t old) { return covers(i, old); });
  }
  double superseded(const ChunkStatistics& figures, std::uint64_t retained) {
    return share_of_age(figures, min_age_, retained, seen_until_ms_);
  }
  // Waits for a chunk that will soon have reached the age as a whole.
  double share_of_age(const ChunkStatistics& figures, std::uint64_t age, std::uint64_t retained,
                      std::uint64_t until_ms) {
    const std::uint64_t first = ms_of(figures.min_timestamp) + age;
    const std::uint64_t all = ms_of(figures.max_timestamp) + age;
    if (all > input_.now_ms && all - input_.now_ms <= age / kWaitShare) {
      due(all);
      return 0;
    }
    // Not before a good part has reached the age.
    const std::uint64_t later = input_.now_ms + (all - first) / 4 + 1'000;
    if (all > input_.now_ms && all > retained) due(std::min(all, std::max(later, first)));
    return share_reaching_age(figures, age, retained, until_ms);
  }

  // Starts computing which rows of older chunks the young chunk kills.
  void begin_kills() {
    begun_ = true;
    next_ = 0;
    of_age_ = 0;
    beneath_ = 0;
    for (const std::uint32_t old : overlaps_.of(young_)) {
      ++report_.steps;
      if (covers(young_, old)) beneath_ += static_cast<double>(record(old).statistics.rows);
    }
    if (beneath_ > 0) of_age_ = superseded(record(young_).statistics, 0);
  }
  void find_kill(std::size_t old) {
    ++report_.steps;
    const ChunkStatistics& figures = record(young_).statistics;
    const auto rows = static_cast<double>(record(old).statistics.rows);
    const double share = input_.in_common(record(young_), record(old));
    // A share below 0: unknown, the rows are assumed to be spread over all chunks beneath.
    const double hits = static_cast<double>(figures.rows) * (share < 0 ? rows / beneath_ : share);
    const double dead = std::min(1.0, hits * of_age_ / std::max(rows, 1.0));
    DeadSpace& space = report_.chunks[old];
    const bool apart = input_.chunks[young_].eden && !input_.chunks[old].eden;
    (apart ? space.dead_by_eden : space.dead) += dead;
    if (!apart && mostly_deletes(figures)) space.deleted += dead;
  }
  // Requires: the two overlap.
  bool covers(std::size_t young, std::size_t old) const {
    return !input_.chunks[young].excluded && younger(young, old);
  }

  // Finds chunks all of whose versions may be dropped, with all that they hide. A chunk that stays
  // keeps the chunks above it, without which its versions would reappear.
  void find_expired() {
    if (!expires()) return;
    std::vector<bool> gone(input_.chunks.size());
    std::vector<std::size_t> staying;
    for (std::size_t i = 0; i < gone.size(); ++i) {
      const Timestamp newest = record(i).statistics.max_timestamp;
      const std::uint64_t end = ms_of(newest) + max_age_;
      gone[i] = end <= input_.now_ms && newest < input_.memory_since && overlaps_.complete();
      if (gone[i]) continue;
      due(end);
      staying.push_back(i);
    }
    while (!staying.empty()) {
      const std::size_t stays = staying.back();
      staying.pop_back();
      for (const std::uint32_t other : overlaps_.of(stays)) {
        ++report_.steps;
        const Timestamp newest = record(other).statistics.max_timestamp;
        if (!gone[other] || record(stays).statistics.min_timestamp >= newest) continue;
        gone[other] = false;
        staying.push_back(other);
      }
    }
    for (std::size_t i = 0; i < gone.size(); ++i) report_.chunks[i].all_expired = gone[i];
  }

  const DeadSpaceInput& input_;
  const ChunkOverlaps overlaps_;
  // Ages at which versions may be dropped, in the resolution of timestamps.
  const std::uint64_t min_age_;
  const std::uint64_t max_age_;
  std::uint64_t seen_until_ms_ = 0;
  // The chunk whose kills are being computed.
  std::size_t young_ = 0;
  bool begun_ = false;
  std::size_t next_ = 0;  // Index among those that overlap it.
  double beneath_ = 0;    // Rows.
  double of_age_ = 0;
  DeadSpaceReport report_;
};

DeadSpaceFinder::DeadSpaceFinder(const DeadSpaceInput& input)
    : impl_(std::make_unique<Impl>(input)) {}
DeadSpaceFinder::~DeadSpaceFinder() = default;
bool DeadSpaceFinder::run(std::size_t questions) {
  return impl_->run(questions);
}
DeadSpaceReport DeadSpaceFinder::finish() {
  return impl_->finish();
}

bool mostly_deletes(const ChunkStatistics& figures) {
  return figures.values == 0 && figures.deletes > 0 && figures.deletes >= figures.rows;
}

DeadSpaceReport find_dead_space(const DeadSpaceInput& input) {
  DeadSpaceFinder finder(input);
  while (!finder.run(~std::size_t{0})) {
  }
  return finder.finish();
}

double KeysInCommon::share(const ChunkReader& young, const ChunkReader& old) {
  const std::pair pair(young.record().id, old.record().id);
  const auto known = shares_.find(pair);
  if (known != shares_.end()) return known->second;
  auto [samples, fresh] = samples_.try_emplace(pair.first);
  if (fresh) samples->second = young.split_keys(kSampledKeys + 1);
  if (samples->second.size() < kSampledKeysMin) return shares_[pair] = -1;
  const EpochGuard guard;
  std::size_t hits = 0;
  RowBuilder row;
  std::vector<std::uint32_t> missing;
  const ColumnSet nothing = ColumnSet::none(std::size_t{1} << 16);
  ReadSpec spec;
  spec.columns = &nothing;
  for (const std::string& key : samples->second) {
    row.clear();
    missing.clear();
    const ByteSpan bytes = as_bytes(key);
    const auto found = old.lookup(bytes, key_hash(bytes), spec, row, missing, {});
    if (found != ChunkReader::Found::kNo) ++hits;
  }
  return shares_[pair] = static_cast<double>(hits) / static_cast<double>(samples->second.size());
}

void KeysInCommon::keep_only(const std::map<std::uint64_t, std::shared_ptr<ChunkReader>>& chunks) {
  std::erase_if(samples_, [&](const auto& item) { return !chunks.contains(item.first); });
  std::erase_if(shares_, [&](const auto& item) {
    return !chunks.contains(item.first.first) || !chunks.contains(item.first.second);
  });
}

}  // namespace moraine::table

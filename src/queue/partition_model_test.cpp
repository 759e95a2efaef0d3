// Random operations with restarts and crashes, against a model that keeps everything in memory.

#include <gtest/gtest.h>

#include "queue/test_queue.h"

namespace moraine::queue {
namespace {

struct ModelEntry {
  Offset offset = 0;
  std::string text;
  std::string source;
  std::uint64_t number = 0;
  std::int64_t time = 0;
};

class ModelRun {
 public:
  explicit ModelRun(std::uint64_t seed)
      : random_(seed), queue_(seed, config(seed), seed % 3 == 0 ? 0 : TestQueue::kCacheBytes) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      step();
      if (testing::Test::HasFatalFailure()) return;
    }
    check_all();
  }

 private:
  static PartitionConfig config(std::uint64_t seed) {
    PartitionConfig config;
    config.low_watermark = std::uint64_t{500} << (seed % 10);
    return config;
  }

  void step() {
    const std::uint64_t dice = random_.below(100);
    if (dice < 50) return write();
    if (dice < 58) return write_in_parts();
    if (dice < 75) return read();
    if (dice < 82) return commit();
    if (dice < 86) return trim();
    if (dice < 92) return find_time();
    if (dice < 95) return queue_.restart();
    if (dice < 97) return crash_with_writes();
    check_all();
  }

  WriteRequest some_message(ModelEntry& entry) {
    entry.source = std::string(1, static_cast<char>('a' + random_.below(3)));
    entry.number = newest_[entry.source] + random_.below(3);
    entry.time = static_cast<std::int64_t>(random_.below(1'000));
    entry.text =
        fmt::format("{}:{}:{}", entry.source, entry.number, std::string(random_.below(2'000), 'x'));
    WriteRequest request = TestQueue::message(entry.text, entry.source, entry.number);
    request.max_timestamp_ms = entry.time;
    return request;
  }
  bool is_new(const ModelEntry& entry) const {
    const auto found = newest_.find(entry.source);
    return found == newest_.end() || !wrote_.contains(entry.source) || entry.number > found->second;
  }
  void take(ModelEntry entry) {
    entry.offset = end_++;
    newest_[entry.source] = entry.number;
    wrote_.insert(entry.source);
    entries_.push_back(std::move(entry));
  }

  void write() {
    const std::uint64_t together = 1 + random_.below(8);
    std::vector<TestQueue::Answer> answers;
    std::vector<WriteStatus> expected;
    for (std::uint64_t i = 0; i < together; ++i) {
      ModelEntry entry;
      answers.push_back(queue_.send(some_message(entry)));
      expected.push_back(is_new(entry) ? WriteStatus::kOk : WriteStatus::kDuplicate);
      if (expected.back() == WriteStatus::kOk) take(std::move(entry));
    }
    for (std::size_t i = 0; i < answers.size(); ++i) {
      ASSERT_EQ(queue_.wait(answers[i]).status, expected[i]);
    }
  }
  void write_in_parts() {
    ModelEntry entry;
    WriteRequest whole = some_message(entry);
    const bool fresh = is_new(entry);
    const auto parts = static_cast<std::uint32_t>(2 + random_.below(3));
    const bool dies = random_.one_in(4);
    for (std::uint32_t part = 0; part < parts; ++part) {
      if (dies && part + 1 == parts) return;
      WriteRequest request = whole;
      const std::size_t cut = whole.payload.size() / parts;
      const std::size_t size = part + 1 == parts ? whole.payload.size() - cut * part : cut;
      request.payload = whole.payload.sub(cut * part, size);
      request.part = part;
      request.parts = parts;
      ASSERT_EQ(queue_.write(std::move(request)).status,
                fresh ? WriteStatus::kOk : WriteStatus::kDuplicate);
    }
    if (fresh) take(std::move(entry));
  }
  void read() {
    const Offset from = random_.below(end_ + 1);
    const ReadAnswer answer = queue_.read(from, random_.below(20'000));
    ASSERT_EQ(answer.start, start_);
    ASSERT_EQ(answer.end, end_);
    Offset at = std::max(from, start_);
    ASSERT_EQ(answer.entries.empty(), at == end_);
    for (const StoredEntry& entry : answer.entries) check(entry, at++);
  }
  void check(const StoredEntry& entry, Offset at) {
    ASSERT_EQ(entry.offset, at);
    const ModelEntry& model = entries_[at];
    ASSERT_EQ(entry.payload.text(), model.text);
    ASSERT_EQ(entry.source_id, model.source);
    ASSERT_EQ(entry.number, model.number);
    ASSERT_EQ(entry.max_timestamp_ms, model.time);
  }
  void commit() {
    const std::string name(1, static_cast<char>('p' + random_.below(3)));
    committed_[name] = random_.below(end_ + 1);
    ASSERT_TRUE(queue_.commit(name, committed_[name]));
  }
  void trim() {
    const Offset to = start_ + random_.below(end_ - start_ + 1) / 2;
    start_ = std::max(start_, to);
    ASSERT_EQ(*queue_.trim(to), start_);
  }
  void find_time() {
    const auto wanted = static_cast<std::int64_t>(random_.below(1'100));
    std::optional<Offset> first;
    for (Offset at = end_; at-- > start_;) {
      if (entries_[at].time >= wanted) first = at;
    }
    const auto found = queue_.world.run(queue_.partition().find_time(wanted));
    ASSERT_TRUE(found);
    ASSERT_EQ(found->has_value(), first.has_value());
    if (first) ASSERT_EQ((*found)->offset, *first);
  }
  // Some of the writes in flight are stored, and they are a prefix.
  void crash_with_writes() {
    std::vector<TestQueue::Answer> answers;
    std::vector<ModelEntry> sent;
    for (std::uint64_t i = 0; i < 1 + random_.below(10); ++i) {
      ModelEntry entry;
      WriteRequest request = some_message(entry);
      entry.number = request.producer.number = newest_[entry.source] + 1 + i;
      answers.push_back(queue_.send(std::move(request)));
      sent.push_back(std::move(entry));
      if (random_.one_in(2)) queue_.world.run_for(Duration(1us) * random_.below(150));
    }
    queue_.crash();
    std::size_t acknowledged = 0;
    for (const auto& answer : answers) {
      if (answer->ready() && answer->await_resume().status == WriteStatus::kOk) ++acknowledged;
    }
    const Offset end = queue_.partition().info().end;
    ASSERT_GE(end, end_ + acknowledged);
    ASSERT_LE(end, end_ + sent.size());
    for (std::size_t i = 0; end_ < end; ++i) take(std::move(sent[i]));
  }
  void check_all() {
    ASSERT_EQ(queue_.untidy(), "");
    ASSERT_EQ(queue_.partition().info().start, start_);
    ASSERT_EQ(queue_.partition().info().end, end_);
    Offset at = start_;
    for (const StoredEntry& entry : queue_.entries(start_)) check(entry, at++);
    ASSERT_EQ(at, end_);
    for (const auto& [name, offset] : committed_) {
      ASSERT_EQ(queue_.partition().committed(name)->offset, offset);
    }
  }

  SeededRandom random_;
  TestQueue queue_;
  std::vector<ModelEntry> entries_;
  std::map<std::string, std::uint64_t> newest_;
  std::set<std::string> wrote_;
  std::map<std::string, Offset> committed_;
  Offset start_ = 0;
  Offset end_ = 0;
};

class PartitionModel : public testing::TestWithParam<std::uint64_t> {};

TEST_P(PartitionModel, DoesWhatThePartitionDoes) {
  for (std::uint64_t i = 0; i < 5; ++i) {
    ModelRun run(1 + GetParam() * 5 + i);
    run.run(250);
    ASSERT_FALSE(HasFatalFailure()) << "seed " << 1 + GetParam() * 5 + i;
  }
}

INSTANTIATE_TEST_SUITE_P(Shard, PartitionModel, testing::Range<std::uint64_t>(0, 4));

}  // namespace
}  // namespace moraine::queue

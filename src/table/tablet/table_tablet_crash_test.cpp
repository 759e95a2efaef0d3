// Power cuts: every acknowledged write survives, and no write is applied in part.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "table/tablet/test_table.h"

namespace moraine::table {
namespace {

constexpr TabletId kCoordinator{500};
constexpr int kPairs = 20;

std::string line(int key, const std::string& text) {
  return text.empty() ? std::string("-") : fmt::format("k={} v={}", key, text);
}

struct Pending {
  std::vector<int> keys;
  std::string text;
  Result<Timestamp> answer = fail(Errc::kTimeout, "not answered");
};

Task<void> commit_into(TableTablet& tablet, TabletWrite write, std::shared_ptr<Pending> pending) {
  pending->answer = co_await tablet.commit(std::move(write));
}

// Rows 2i and 2i + 1 are always written together.
std::shared_ptr<Pending> begin_pair(TestTable& table, TaskScope& scope, int pair, int number) {
  auto pending = std::make_shared<Pending>();
  pending->keys = {2 * pair, 2 * pair + 1};
  pending->text = fmt::format("t{}", number);
  std::vector<RowChange> changes;
  for (const int key : pending->keys) {
    changes.push_back(table.rows.put({{"k", key}, {"v", std::string_view(pending->text)}}));
  }
  scope.spawn(commit_into(*table.tablet, table.transaction(std::move(changes)), pending));
  return pending;
}

TEST(TableTabletCrash, AtRandomMomentsLosesNothingThatWasAcknowledged) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    MountConfig mount;
    mount.max_dynamic_store_row_count = 12;
    TestTable table(seed, test_schema(), mount);
    table.boot();
    SeededRandom random(seed);
    // By pair: the texts that may be found; an empty one means no row.
    std::vector<std::set<std::string>> possible(kPairs, std::set<std::string>{""});
    int number = 0;
    for (int round = 0; round < 10; ++round) {
      TaskScope scope;
      std::vector<std::shared_ptr<Pending>> pendings;
      const std::uint64_t writes = 1 + random.below(40);
      for (std::uint64_t i = 0; i < writes; ++i) {
        const int pair = static_cast<int>(random.below(kPairs));
        pendings.push_back(begin_pair(table, scope, pair, ++number));
        if (random.one_in(3)) table.world.run_for(Duration(1us) * random.below(300));
      }
      table.crash();
      // For a pair: the newest acknowledged text, or one of the later ones.
      for (const auto& pending : pendings) {
        std::set<std::string>& texts = possible.at(pending->keys[0] / 2);
        if (pending->answer) texts.clear();
        if (pending->answer || pending->answer.error().code != Errc::kAborted) {
          texts.insert(pending->text);
        }
      }
      for (int pair = 0; pair < kPairs; ++pair) {
        const std::string first = table.get({{"k", 2 * pair}});
        const std::string second = table.get({{"k", 2 * pair + 1}});
        const std::string text = first == "-" ? "" : first.substr(first.find("v=") + 2);
        ASSERT_EQ(second, line(2 * pair + 1, text)) << "half of a transaction";
        std::set<std::string>& texts = possible.at(pair);
        ASSERT_TRUE(texts.contains(text))
            << "seed " << seed << ", pair " << pair << ": '" << text << "'";
        texts = {text};  // The boot has decided.
      }
    }
  }
}

// What a client knows at one point in time.
struct Known {
  std::map<int, std::string> sure;     // Acknowledged.
  std::map<int, std::string> pending;  // In flight: applied or not.
  std::optional<TransactionId> prepared;
  int prepared_key = 0;
};

void check_image(DiskImage image, const Known& known, Timestamp newest, std::uint64_t event) {
  MountConfig mount;
  mount.max_dynamic_store_row_count = 8;
  TestTable table(99, test_schema(), mount);
  table.timestamps.raise_to(newest);
  table.install(std::move(image));
  std::set<int> keys;
  for (const auto& [key, text] : known.sure) keys.insert(key);
  for (const auto& [key, text] : known.pending) keys.insert(key);
  std::size_t new_ones = 0;
  for (const int key : keys) {
    const auto sure = known.sure.find(key);
    const std::string old = line(key, sure == known.sure.end() ? "" : sure->second);
    const std::string found = table.get({{"k", key}}, kAsyncLastCommitted);
    const auto pending = known.pending.find(key);
    if (pending == known.pending.end()) {
      ASSERT_EQ(found, old) << "event " << event;
      continue;
    }
    const bool is_new = found == line(key, pending->second);
    ASSERT_TRUE(found == old || is_new) << "event " << event << ": " << found;
    if (is_new && found != old) ++new_ones;
  }
  ASSERT_TRUE(new_ones == 0 || new_ones == known.pending.size()) << "event " << event;
  if (known.prepared) {
    const auto conflict = table.write({table.rows.put({{"k", known.prepared_key}})});
    ASSERT_FALSE(conflict) << "event " << event << ": a prepared transaction was forgotten";
    ASSERT_TRUE(
        table.world.run(table.tablet->commit_prepared(*known.prepared, table.timestamps.draw())));
  }
  table.put({{"k", 1'000}, {"v", "after"}});
  ASSERT_EQ(table.get({{"k", 1'000}}), "k=1000 v=after");
}

class Story {
 public:
  Story() : table_(5, test_schema(), small_stores()) { table_.boot(); }

  void run() {
    SimDiskStore& disks = table_.storage.node().disks();
    disks.on_io([&](const IoEvent& event) {
      const CrashPolicy policy = event.number % 3 == 0   ? CrashPolicy::kKeep
                                 : event.number % 3 == 1 ? CrashPolicy::kLose
                                                         : CrashPolicy::kRandom;
      ++images;
      check_image(disks.crash_image("device", policy, event.number), known_, newest_, event.number);
    });
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 4; ++i) write({i, i + 10 + round}, fmt::format("r{}-{}", round, i));
      two_phase(50 + round, fmt::format("p{}", round));
      if (round == 1) table_.flush();
    }
    table_.compact();
    disks.on_io({});
  }
  std::uint64_t images = 0;
  std::uint64_t flushes() { return table_.tablet->statistics().flushes; }

 private:
  static MountConfig small_stores() {
    MountConfig mount;
    mount.max_dynamic_store_row_count = 8;
    return mount;
  }
  TabletWrite transaction(const std::vector<int>& keys, const std::string& text) {
    std::vector<RowChange> changes;
    for (const int key : keys) {
      changes.push_back(table_.rows.put({{"k", key}, {"v", std::string_view(text)}}));
      known_.pending[key] = text;
    }
    TabletWrite write = table_.transaction(std::move(changes));
    newest_ = write.start + 1'000;
    return write;
  }
  void confirmed() {
    for (const auto& [key, text] : known_.pending) known_.sure[key] = text;
    known_.pending.clear();
  }
  void write(const std::vector<int>& keys, const std::string& text) {
    const auto written = table_.world.run(table_.tablet->commit(transaction(keys, text)));
    ASSERT_TRUE(written) << written.error().message();
    confirmed();
  }
  void two_phase(int key, const std::string& text) {
    TabletWrite write = transaction({key}, text);
    const TransactionId id = write.transaction;
    ASSERT_TRUE(table_.world.run(table_.tablet->prepare(std::move(write), kCoordinator)));
    known_.pending.clear();
    known_.prepared = id;
    known_.prepared_key = key;
    this->write({key + 20}, text);
    known_.pending[key] = text;
    known_.prepared.reset();
    ASSERT_TRUE(table_.world.run(table_.tablet->commit_prepared(id, table_.timestamps.draw())));
    confirmed();
  }

  TestTable table_;
  Known known_;
  Timestamp newest_ = 0;
};

TEST(TableTabletCrash, AtEveryBoundaryOfAShortStoryLosesNothing) {
  Story story;
  story.run();
  EXPECT_GT(story.images, 60u);
  EXPECT_GT(story.flushes(), 2u);
}

}  // namespace
}  // namespace moraine::table

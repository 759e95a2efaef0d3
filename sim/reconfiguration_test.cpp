// Reconfiguration: a member moves to another node while writers run with the old config.

#include <fmt/ranges.h>

#include "base/log.h"
#include "sim/story.h"

namespace moraine::sim {
namespace {

using namespace moraine::blob;

class Writer {
 public:
  Writer(Story& story, std::size_t client) : story_(story), client_(client) { scope_.spawn(run()); }
  void stop() {
    going_ = false;
    while (scope_.live() > 0) story_.world().run_for(100ms);
  }
  const std::vector<BlobId>& confirmed() const { return confirmed_; }
  const std::vector<Status>& refused() const { return refused_; }

 private:
  Task<void> run() {
    Step step = 0;
    while (going_) {
      ++step;
      const BlobId id(TabletId{20 + client_}, 1, step, 0, 1 + step % 900, 1);
      PutRequest request;
      request.id = id;
      request.data = blob_bytes(id);
      const auto answer = co_await story_.cluster().proxy(client_).put(std::move(request));
      if (answer.status == Status::kOk) {
        confirmed_.push_back(id);
      } else {
        refused_.push_back(answer.status);
      }
      co_await sleep_for(story_.world().executor(), 10ms);
    }
  }

  Story& story_;
  std::size_t client_;
  bool going_ = true;
  std::vector<BlobId> confirmed_;
  std::vector<Status> refused_;
  TaskScope scope_;
};

TEST(Reconfiguration, NoClientSeesItAndTheOldMemberNeverSpeaksForTheNewGeneration) {
  for (const Species species : {Species::kBlock42, Species::kMirror3dc}) {
    Story story(species);
    Writer first(story, 0);
    Writer second(story, 1);
    story.world().run_for(2s);
    const std::uint32_t moved = 2;
    const GroupConfig before = story.cluster().config();
    const std::size_t old_host = story.cluster().host_of(moved);
    story.cluster().move(moved, *story.cluster().spare(), {});
    // The new member gets everything while writes continue.
    for (int i = 0; i < 600 && !story.cluster().replicated(moved); ++i) {
      story.world().run_for(100ms);
    }
    first.stop();
    second.stop();
    story.settle();
    EXPECT_TRUE(first.refused().empty()) << to_string(first.refused().front());
    EXPECT_TRUE(second.refused().empty()) << to_string(second.refused().front());
    EXPECT_GT(first.confirmed().size(), 100u);
    EXPECT_EQ(story.cluster().proxy(0).config().generation, before.generation + 1);

    // The old copy is alive, and only replies that it is no longer a member.
    const auto old = story.cluster().blob_node(old_host)->vdisk(1, 0);
    ASSERT_TRUE(old);
    for (const GroupConfig& config : {before, story.cluster().config()}) {
      PutPart put;
      put.id = BlobId(TabletId{20}, 9, 1, 0, 10, 0, 1);
      put.data = Buffer::zeroed(32).freeze();
      DiskRequest request{config.vdisk(moved), put};
      const DiskReply answer = story.world().run(old->handle(std::move(request)));
      EXPECT_EQ(answer.status, Status::kRace) << to_string(answer.status);
    }
    // What was confirmed before, during and after survives a loss without the old copy.
    story.cluster().crash(old_host);
    story.crash(disk_bit(moved + 1) | disk_bit(moved + 2));
    for (const Writer* writer : {&first, &second}) {
      for (const BlobId& id : writer->confirmed()) EXPECT_EQ(story.get(id), Status::kOk);
    }
  }
}

bool logged(const ScopedLogCapture& log, std::string_view what) {
  return std::ranges::any_of(log.lines(), [&](const auto& line) { return line.contains(what); });
}

// One move is sent to the members, another one of the same generation to a client.
TEST(Reconfiguration, ASecondConfigOfAGenerationIsRefusedAndLogged) {
  ScopedLogCapture log;
  Story story(Species::kBlock42);
  Cluster& cluster = story.cluster();
  GroupConfig other = cluster.config();
  ++other.generation;
  other.disks[5] = {cluster.node_id(*cluster.spare()), 1, 0};
  std::vector<std::size_t> members;
  for (std::uint32_t order = 0; order < story.disks(); ++order) {
    members.push_back(cluster.host_of(order));
  }
  cluster.move(2, *cluster.spare(), members);
  story.world().run_for(1s);
  ASSERT_TRUE(contradict(cluster.config(), other));

  // A node and a disk that have the first reject the second.
  const auto informed = story.world().run(cluster.blob_node(members[0])->reconfigure(other));
  ASSERT_FALSE(informed);
  EXPECT_EQ(informed.error().code, Errc::kConflict);
  EXPECT_TRUE(informed.error().message().contains("two configs of generation 2"));
  EXPECT_EQ(story.ask(0, Configure{other}).status, Status::kError);
  EXPECT_TRUE(logged(log, "config refused")) << fmt::format("{}", fmt::join(log.lines(), "\n"));

  // A client that has the second gets an error that says so.
  ASSERT_TRUE(story.world().run(cluster.blob_node(cluster.client_host(1))->reconfigure(other)));
  PutRequest put;
  put.id = BlobId(TabletId{1}, 1, 1, 0, 100, 1);
  put.data = blob_bytes(put.id);
  const PutResult result = story.world().run(cluster.proxy(1).put(put));
  EXPECT_EQ(result.status, Status::kError);
  EXPECT_TRUE(result.reason.contains("two configs of generation 2")) << result.reason;
  EXPECT_TRUE(logged(log, "config refused by a disk"));
  EXPECT_TRUE(logged(log, "request refused"));
  story.settle();
  EXPECT_EQ(story.put(put.id), Status::kOk) << "the first one continues";
}

}  // namespace
}  // namespace moraine::sim

// Lost domains: for every set of lost disks that the failure model allows, every confirmed blob of
// every size is read back byte for byte, while writes continue.

#include <gtest/gtest.h>

#include <cmath>

#include "sim/cluster.h"

namespace moraine::sim {
namespace {

using namespace moraine::blob;

constexpr int kSizes = 200;
constexpr TabletId kTablet{5};

// From one byte to ten mebibytes, evenly on a logarithmic scale.
std::vector<std::uint32_t> blob_sizes() {
  std::vector<std::uint32_t> sizes;
  for (int i = 0; i < kSizes; ++i) {
    const double share = static_cast<double>(i) / (kSizes - 1);
    sizes.push_back(static_cast<std::uint32_t>(std::lround(std::pow(kBlobSizeMax, share))));
  }
  return sizes;
}

class LostDomains {
 public:
  explicit LostDomains(Erasure erasure) : world_(21, quiet()), cluster_(world_, options(erasure)) {
    EXPECT_TRUE(cluster_.settle(5min)) << cluster_.unsettled();
  }

  void put_all_sizes() {
    Step step = 0;
    for (const std::uint32_t size : blob_sizes()) put(0, BlobId(kTablet, 1, ++step, 0, size, 7));
  }

  void put(std::size_t client, const BlobId& id) {
    PutRequest request;
    request.id = id;
    request.data = blob_bytes(id);
    const auto answer = world_.run(cluster_.proxy(client).put(std::move(request)));
    ASSERT_EQ(answer.status, Status::kOk) << id.to_string() << " " << answer.reason;
    written_.push_back(id);
  }

  void read_all(const std::string& when) {
    for (const BlobId& id : written_) {
      GetRequest request;
      request.queries.push_back({id, 0, 0});
      // And a range that crosses part bounds.
      const std::uint32_t shift = id.size() / 3;
      request.queries.push_back({id, shift, id.size() / 2 + 1});
      const auto answer = world_.run(cluster_.proxy(0).get(std::move(request)));
      ASSERT_EQ(answer.items.size(), 2u) << answer.reason;
      ASSERT_EQ(answer.items[0].status, Status::kOk) << when << " " << id.to_string();
      ASSERT_EQ(answer.items[0].data.size(), id.size());
      ASSERT_TRUE(right_bytes(id, 0, answer.items[0].data)) << when << " " << id.to_string();
      ASSERT_EQ(answer.items[1].status, Status::kOk) << when << " " << id.to_string();
      ASSERT_TRUE(right_bytes(id, shift, answer.items[1].data)) << when << " " << id.to_string();
    }
  }

  // The members in `lost` are down while everything is read and something is written.
  void survive(DiskSet lost) {
    const std::string when = fmt::format("without {:#x}", lost);
    ASSERT_TRUE(tolerated(cluster_.geometry(), lost));
    for (std::uint32_t order = 0; order < cluster_.geometry().disks(); ++order) {
      if (contains(lost, order)) cluster_.crash(cluster_.host_of(order));
    }
    start_writer();
    read_all(when);
    stop_writer();
    for (std::uint32_t order = 0; order < cluster_.geometry().disks(); ++order) {
      if (contains(lost, order)) cluster_.start(cluster_.host_of(order));
    }
    ASSERT_TRUE(cluster_.settle(5min)) << when << " " << cluster_.unsettled();
  }

  // Replaces member `order` by an empty disk, under load, and waits until it has everything again.
  void replace(std::uint32_t order) {
    start_writer();
    const std::size_t host = cluster_.host_of(order);
    cluster_.crash(host);
    cluster_.replace_disk(host);
    cluster_.start(host);
    ASSERT_TRUE(cluster_.settle(30min)) << cluster_.unsettled();
    stop_writer();
  }

  // A client that puts small blobs, one after another.
  void start_writer() {
    writing_ = true;
    writer_.spawn(write());
  }
  void stop_writer() {
    writing_ = false;
    while (writer_.live() > 0) world_.run_for(100ms);
    EXPECT_GT(writes_, 0) << "the writer never got an answer";
  }

  SimWorld& world() { return world_; }
  Cluster& cluster() { return cluster_; }

 private:
  static SimOptions quiet() {
    SimOptions options;
    options.trace_contents = false;
    return options;
  }
  static ClusterOptions options(Erasure erasure) {
    ClusterOptions options;
    options.erasure = erasure;
    options.segment_bytes = 16u << 20;
    options.segments = 60;
    options.node = quick_node_options();
    options.node.device.checkpoint_log_bytes = 16u << 20;
    return options;
  }
  Task<void> write() {
    writes_ = 0;
    while (writing_) {
      ++step_;
      const BlobId id(kTablet, 2, step_, 1, 1 + step_ * 37 % 3000, 1);
      PutRequest request;
      request.id = id;
      request.data = blob_bytes(id);
      const auto answer = co_await cluster_.proxy(1).put(std::move(request));
      EXPECT_EQ(answer.status, Status::kOk) << id.to_string() << " " << answer.reason;
      if (answer.status == Status::kOk && ++writes_ % 50 == 1) written_.push_back(id);
      co_await sleep_for(world_.executor(), 20ms);
    }
  }

  SimWorld world_;
  Cluster cluster_;
  std::vector<BlobId> written_;
  bool writing_ = false;
  Step step_ = 0;
  int writes_ = 0;
  TaskScope writer_;
};

TEST(LostDomains, Block42SurvivesEveryPairOverTwoHundredSizes) {
  LostDomains story(Erasure::kBlock42);
  story.put_all_sizes();
  for (std::uint32_t a = 0; a < 8; ++a) {
    for (std::uint32_t b = a + 1; b < 8; ++b) story.survive(disk_bit(a) | disk_bit(b));
  }
}

TEST(LostDomains, Mirror3dcSurvivesEveryRealmPlusOneDiskOverTwoHundredSizes) {
  LostDomains story(Erasure::kMirror3dc);
  story.put_all_sizes();
  for (std::uint32_t realm = 0; realm < 3; ++realm) {
    const DiskSet whole = DiskSet{0b111} << (realm * 3);
    for (std::uint32_t other = 0; other < 9; ++other) {
      if (!contains(whole, other)) story.survive(whole | disk_bit(other));
    }
  }
}

TEST(LostDomains, AReplacedBlock42DiskIsReplicatedUnderLoadAndThenAnyOtherLossIsSurvived) {
  LostDomains story(Erasure::kBlock42);
  story.put_all_sizes();
  story.replace(3);
  for (const auto& [a, b] : {std::pair{0u, 1u}, {2u, 4u}, {5u, 7u}, {6u, 0u}}) {
    story.survive(disk_bit(a) | disk_bit(b));
  }
}

TEST(LostDomains, AReplacedMirror3dcDiskIsReplicatedUnderLoadAndThenAnyOtherLossIsSurvived) {
  LostDomains story(Erasure::kMirror3dc);
  story.put_all_sizes();
  story.replace(4);
  story.survive(0b111 | disk_bit(5));
  story.survive(DiskSet{0b111} << 6 | disk_bit(0));
}

}  // namespace
}  // namespace moraine::sim

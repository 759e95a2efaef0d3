// Many clients, and disks that fail, hang, slow down and recover at random, within what the group
// tolerates: no confirmed blob is lost, and every result is one that the rules allow.
#include <gtest/gtest.h>

#include <map>

#include "blob/proxy/test_group.h"

namespace moraine::blob {
namespace {

using Behaviour = ScriptedDisk::Behaviour;

class Storm {
 public:
  Storm(Species species, std::uint64_t seed) : group_(species), random_(seed) {}

  void run() {
    for (Step client = 0; client < 8; ++client) {
      clients_.spawn(write_and_read(client));
    }
    while (clients_.live() > 0) {
      change_weather();
      group_.wait(Duration{random_.below(400'000'000)});
    }
    group_.set_behaviours(0, Behaviour::kHealthy);
    group_.wait(40s);
    for (const auto& [id, data] : confirmed_) {
      const GetItem got = group_.restore(id);
      ASSERT_EQ(got.status, Status::kOk) << id.to_string();
      ASSERT_TRUE(equal(got.data, data));
    }
    EXPECT_GT(confirmed_.size(), 100u);
  }

 private:
  static constexpr Step kBlobsPerClient = 40;

  // A new tolerated set of bad disks.
  void change_weather() {
    const std::uint32_t disks = group_.geometry().disks();
    DiskSet bad = 0;
    for (int tries = 0; tries < 8; ++tries) {
      const DiskSet more = bad | disk_bit(static_cast<std::uint32_t>(random_.below(disks)));
      if (tolerated(group_.geometry(), more)) bad = more;
    }
    if (random_.one_in(4)) bad = 0;
    constexpr std::array kBehaviours{Behaviour::kError, Behaviour::kSilent, Behaviour::kNotReady,
                                     Behaviour::kOutOfSpace};
    for (std::uint32_t order = 0; order < disks; ++order) {
      ScriptedDisk& disk = group_.disk(order);
      disk.behaviour = contains(bad, order) ? kBehaviours[random_.below(kBehaviours.size())]
                                            : Behaviour::kHealthy;
      disk.delay = random_.one_in(10) ? Duration{300ms} : Duration{random_.below(3'000'000)};
    }
  }

  Task<void> write_and_read(Step client) {
    for (Step i = 0; i < kBlobsPerClient; ++i) {
      const std::size_t size = 1 + random_.below(2000);
      const BlobId id = test_id(size, client * 1000 + i + 1);
      const Slice data = test_bytes(size, id.step());
      PutRequest put;
      put.id = id;
      put.data = data;
      const PutResult written = co_await group_.proxy().put(std::move(put));
      EXPECT_NE(written.status, Status::kBlocked);
      if (written.status == Status::kOk) confirmed_.emplace(id, data);
      if (!confirmed_.empty()) co_await read_one();
    }
  }

  Task<void> read_one() {
    auto chosen = confirmed_.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(random_.below(confirmed_.size())));
    const BlobId id = chosen->first;
    const Slice data = chosen->second;
    GetRequest get;
    const auto shift = static_cast<std::uint32_t>(random_.below(id.size()));
    get.queries.push_back({id, shift, 1 + static_cast<std::uint32_t>(random_.below(500))});
    get.must_restore = random_.one_in(3);
    const GetResult got = co_await group_.proxy().get(std::move(get));
    const GetItem& item = got.items.front();
    // Disks change while it reads, so it may fail, but never with NODATA.
    EXPECT_NE(item.status, Status::kNoData) << id.to_string();
    if (item.status == Status::kOk) {
      EXPECT_TRUE(equal(item.data, data.sub(shift, item.data.size())));
    }
  }

  TestGroup group_;
  SeededRandom random_;
  std::map<BlobId, Slice> confirmed_;
  TaskScope clients_;
};

TEST(ProxyStorm, NothingConfirmedIsLostOnBlock42) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) Storm(Species::kBlock42, seed).run();
}

TEST(ProxyStorm, NothingConfirmedIsLostOnMirror3dc) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) Storm(Species::kMirror3dc, seed).run();
}

}  // namespace
}  // namespace moraine::blob

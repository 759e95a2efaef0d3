// Stage: a cluster with a model, driven step by step: each command is awaited, replies are checked.
//
// Promise    Commands go through the model as those of the campaign do. Steps after a failure do
//            nothing.
// Threading  Outside the loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/cluster.h"
#include "sim/model.h"

namespace moraine::sim {

class Stage {
 public:
  static constexpr blob::TabletId kTablet{7};

  explicit Stage(ClusterOptions options, std::uint64_t seed = 1, SimOptions world = {});
  ~Stage();

  SimWorld& world() { return world_; }
  Cluster& cluster() { return cluster_; }
  Model& model() { return model_; }
  History& history() { return history_; }
  blob::Proxy& proxy(std::size_t client = 0) { return cluster_.proxy(client); }

  // Time limit of the following commands.
  void set_command_time(Duration time) { command_time_ = time; }
  // Sends a request to one member directly, without a proxy.
  blob::DiskReply ask(std::uint32_t order, blob::RequestBody body);

  // Runs until every member serves; a failure of the stage when that does not happen.
  void open();
  bool failed() const { return history_.failed(); }
  const std::optional<std::string>& failure() const { return history_.failure(); }

  blob::BlobId id(blob::Generation generation, blob::Step step, std::uint32_t size,
                  std::uint32_t cookie = 0, blob::Channel channel = 0) const {
    return {kTablet, generation, step, channel, size, cookie};
  }
  blob::PutResult put(const blob::BlobId& id, std::size_t client = 0);
  blob::GetResult get(std::vector<blob::BlobId> ids, bool must_restore = false,
                      std::size_t client = 0);
  blob::Status get_one(const blob::BlobId& id, bool must_restore = false, std::size_t client = 0);
  blob::BlockResult block(blob::Generation generation, std::uint64_t issuer = 1,
                          std::size_t client = 0);
  blob::CollectResult collect(blob::CollectRequest request, std::size_t client = 0);
  // A collect of kTablet, with the next counter of its generation.
  blob::CollectRequest collect_request(blob::Generation generation);

  // Members by order.
  void crash(blob::DiskSet members, CrashPolicy policy = CrashPolicy::kRandom);
  void start(blob::DiskSet members);
  void replace(blob::DiskSet members);  // They restart with empty disks.
  // Cuts members off from hosts, both ways.
  void cut(blob::DiskSet members, const std::vector<std::size_t>& hosts);
  // Cuts the members off from the clients only.
  void hide(blob::DiskSet members) {
    world_.network().heal();
    cut(members, client_hosts());
  }
  std::vector<std::size_t> member_hosts();
  std::vector<std::size_t> client_hosts();
  void settle(Duration bound = 120s);

 private:
  SimWorld world_;
  History history_;
  Model model_;
  Cluster cluster_;
  std::uint32_t counter_ = 1;
  Duration command_time_ = 15s;
};

}  // namespace moraine::sim

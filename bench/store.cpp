#include "bench/store.h"

#include <fmt/format.h>

#include "bench/raw_disk.h"
#include "io/random.h"

namespace moraine::bench {
namespace {

constexpr NodeId kNode{1};
constexpr blob::GroupId kGroup{1};
constexpr std::size_t kContents = 16;  // Different blobs, used in turn.
constexpr std::uint32_t kStepBlobs = 1u << 20;

blob::ClusterConfig cluster(const StoreOptions& options) {
  blob::GroupConfig group;
  group.id = kGroup;
  group.geometry = blob::Geometry::standard(options.species);
  blob::NodeConfig node;
  node.id = kNode;
  node.host = "127.0.0.1";
  for (std::uint32_t order = 0; order < group.geometry.disks(); ++order) {
    blob::DeviceConfig device;
    device.id = order + 1;
    device.path = Store::device_path(options, order);
    device.size = options.device_bytes;
    device.segment_size = options.segment_bytes;
    node.devices.push_back(device);
    group.disks.push_back({kNode, device.id, 0});
  }
  blob::ClusterConfig config;
  config.name = "bench";
  config.nodes.push_back(std::move(node));
  config.groups.push_back(std::move(group));
  return config;
}

blob::BlobNodeOptions node_options(const StoreOptions& options) {
  blob::BlobNodeOptions node;
  node.vdisk.cache_bytes = options.cache_bytes;
  if (options.prefill) node.prefill_segments = blob::kSegmentsMax;
  return node;
}

TcpNetworkOptions network() {
  TcpNetworkOptions options;
  options.self = kNode;
  return options;
}

}  // namespace

// `depth` workers that share one count of operations.
class Store::Run {
 public:
  Run(Store& store, const Load& load, std::uint64_t newest)
      : store_(store), load_(load), newest_(newest), random_(store.seed_++) {
    if (newest_ > 0) return;
    for (std::size_t i = 0; i < kContents; ++i) {
      contents_.push_back(random_bytes(load_.size, i + 1));
    }
  }

  Task<Result<Round>> all() {
    round_.latencies.reserve(load_.count);
    const double cpu_before = cpu_seconds();
    watch_ = Stopwatch();
    TaskScope workers;
    for (std::uint32_t i = 0; i < load_.depth; ++i) workers.spawn(work());
    co_await workers.join();
    round_.seconds = watch_.seconds();
    round_.cpu_seconds = cpu_seconds() - cpu_before;
    if (!problem_.empty()) co_return fail(Errc::kIo, problem_);
    round_.operations = load_.count;
    round_.bytes = load_.count * load_.size;
    co_return std::move(round_);
  }

 private:
  Task<void> work() {
    while (begun_ < load_.count && problem_.empty()) {
      ++begun_;
      const std::uint64_t started = watch_.nanoseconds();
      if (newest_ == 0) {
        co_await put_one();
      } else {
        co_await get_one();
      }
      round_.latencies.push_back(watch_.nanoseconds() - started);
    }
  }

  Task<void> put_one() {
    const std::uint64_t number = store_.put_++;
    blob::PutRequest request;
    request.id = store_.id(number, load_.size);
    request.data = contents_[number % contents_.size()];
    const blob::PutResult result = co_await store_.proxy_->put(std::move(request));
    if (result.status != blob::Status::kOk) {
      problem_ = fmt::format("put: {} {}", to_string(result.status), result.reason);
    }
  }

  Task<void> get_one() {
    const std::uint64_t number = store_.put_ - 1 - random_.below(newest_);
    blob::GetRequest request;
    request.queries.push_back({store_.id(number, load_.size)});
    const blob::GetResult result = co_await store_.proxy_->get(std::move(request));
    if (result.status == blob::Status::kOk && result.items[0].status == blob::Status::kOk &&
        result.items[0].data.size() == load_.size) {
      co_return;
    }
    problem_ = fmt::format("get: {} {}", to_string(result.items[0].status), result.reason);
  }

  Store& store_;
  const Load load_;
  const std::uint64_t newest_;
  SeededRandom random_;
  std::vector<Slice> contents_;
  Stopwatch watch_;
  std::uint64_t begun_ = 0;
  Round round_;
  std::string problem_;
};

std::string Store::device_path(const StoreOptions& options, std::uint32_t order) {
  return fmt::format("{}/device{}", options.folder, order + 1);
}

Store::Store(const StoreOptions& options)
    : options_(options),
      world_({}, network()),
      node_(world_.world(), cluster(options), kNode, node_options(options)) {}

Result<std::unique_ptr<Store>> Store::open(const StoreOptions& options) {
  std::unique_ptr<Store> store(new Store(options));
  TRY_VOID(store->world_.run(store->start()));
  return store;
}

Task<Result<void>> Store::start() {
  CO_TRY_VOID(co_await node_.start());
  started_ = true;
  proxy_ = node_.proxy(kGroup);
  for (const auto& [address, disk] : node_.vdisks()) {
    while (disk->phase() == blob::VDisk::Phase::kRecovering) {
      co_await sleep_for(world_.lane(), 1ms);
    }
    put_ = std::max<std::uint64_t>(put_, disk->state().index().size());
  }
  co_return Result<void>();
}

Store::~Store() {
  // All first: each may be sleeping.
  for (const auto& [address, disk] : node_.vdisks()) disk->abandon();
  if (started_) world_.run(node_.stop());
  world_.run(world_.network().stop());
}

blob::BlobId Store::id(std::uint64_t number, std::uint32_t size) const {
  return {blob::TabletId{1},
          1,
          static_cast<blob::Step>(number / kStepBlobs + 1),
          0,
          size,
          static_cast<std::uint32_t>(number % kStepBlobs)};
}

Result<Round> Store::put(const Load& load) {
  Run run(*this, load, 0);
  return world_.run(run.all());
}

Result<Round> Store::get(const Load& load, std::uint64_t newest) {
  Run run(*this, load, newest);
  return world_.run(run.all());
}

void Store::stop_disk(std::uint32_t order) {
  world_.run(node_.vdisk(order + 1, 0)->stop());
}

blob::Device& Store::device(std::uint32_t order) {
  return *node_.device(order + 1);
}

std::uint64_t Store::used_bytes(std::uint32_t order) {
  blob::Device& device = this->device(order);
  const std::uint32_t used = device.segments().count() - device.segments().free();
  return device.superblock().segment_offset(used);
}

}  // namespace moraine::bench

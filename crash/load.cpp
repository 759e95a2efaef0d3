#include "crash/load.h"

#include <fmt/format.h>

namespace moraine::crash {
namespace {

constexpr Duration kAnswerWithin = 10s;
constexpr Duration kPauseAfterError = 5ms;
constexpr std::uint64_t kFirstTablet = 1001;
constexpr std::uint64_t kBlockOneIn = 2'000;
constexpr std::uint64_t kFenceTestOneIn = 500;

}  // namespace

Load::Load(Executor& executor, blob::Proxy& proxy, Random& random, LoadOptions options)
    : executor_(executor), proxy_(proxy), random_(random), options_(options) {
  for (std::uint32_t i = 0; i < options_.tablets; ++i) {
    tablets_.emplace_back(blob::TabletId{kFirstTablet + i});
  }
}

void Load::start(std::uint32_t round) {
  round_ = round;
  stopping_ = false;
  for (std::uint32_t i = 0; i < options_.writers; ++i) scope_.spawn(write());
}

Task<void> Load::joined() {
  co_await scope_.join();
}

Instant Load::deadline() const {
  return executor_.now() + kAnswerWithin;
}

Task<void> Load::write() {
  while (!stopping_) {
    TabletTruth& tablet = tablets_[random_.below(tablets_.size())];
    if (tablet.block_unfinished() || random_.one_in(kBlockOneIn)) {
      co_await block(tablet);
    } else if (tablet.live_bytes() > options_.live_bytes_max) {
      co_await collect(tablet);
    } else if (tablet.fenced() != 0 && random_.one_in(kFenceTestOneIn)) {
      co_await test_fence(tablet);
    }
    if (stopping_) break;
    const bool stored = co_await put(tablet);
    if (!stored && !stopping_) co_await sleep_for(executor_, kPauseAfterError);
  }
}

Task<bool> Load::put(TabletTruth& tablet) {
  blob::PutRequest request;
  request.id = tablet.begin_put(draw_size(random_), round_);
  request.data = bytes_of(request.id);
  request.deadline = deadline();
  const blob::BlobId id = request.id;
  const blob::PutResult result = co_await proxy_.put(std::move(request));
  tablet.put_ended(id, result.status);
  const bool stored = result.status == blob::Status::kOk;
  ++(stored ? counts_.acknowledged : counts_.in_doubt);
  co_return stored;
}

Task<void> Load::collect(TabletTruth& tablet) {
  std::optional<blob::CollectRequest> request = tablet.begin_collect(random_);
  if (!request) co_return;
  request->deadline = deadline();
  const blob::CollectResult result = co_await proxy_.collect(std::move(*request));
  tablet.collect_ended(result);
  if (result.status == blob::Status::kOk) ++counts_.collects;
}

Task<void> Load::block(TabletTruth& tablet) {
  const std::optional<blob::Generation> generation = tablet.begin_block();
  if (!generation) co_return;
  blob::BlockRequest request;
  request.tablet = tablet.id();
  request.generation = *generation + 1;
  request.deadline = deadline();
  const blob::BlockResult result = co_await proxy_.block(request);
  tablet.block_ended(result.status);
  if (result.status == blob::Status::kOk) ++counts_.blocks;
}

Task<void> Load::test_fence(TabletTruth& tablet) {
  blob::PutRequest request;
  request.id = tablet.fenced_id(draw_size(random_));
  request.data = bytes_of(request.id);
  request.deadline = deadline();
  const blob::BlobId id = request.id;
  const blob::PutResult result = co_await proxy_.put(std::move(request));
  if (result.status == blob::Status::kBlocked) {
    ++counts_.refused;
    co_return;
  }
  tablet.put_in_doubt(id, round_);
  if (result.status != blob::Status::kOk) co_return;
  violations_.push_back(fmt::format("{} was stored despite its fence", id.to_string()));
}

}  // namespace moraine::crash

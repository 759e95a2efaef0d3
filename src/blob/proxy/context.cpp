#include "blob/proxy/context.h"

#include <fmt/format.h>

#include <utility>

#include "base/invariant.h"
#include "base/log.h"

namespace moraine::blob {
namespace {

ViewPtr make_view(GroupConfig config, EndpointResolver& resolver) {
  auto view = std::make_shared<GroupView>();
  const std::uint32_t disks = config.geometry.disks();
  INVARIANT(config.disks.size() == disks, "group {} names {} disks, its shape has {}",
            config.id.value, config.disks.size(), disks);
  for (std::uint32_t order = 0; order < disks; ++order) {
    view->ids.push_back(config.vdisk(order));
    view->endpoints.push_back(resolver.resolve(config.disks[order]));
  }
  view->digest = config.digest();
  view->config = std::move(config);
  return view;
}

std::size_t put_bytes(const RequestBody& body) {
  const auto* put = std::get_if<PutPart>(&body);
  return put == nullptr ? 0 : put->data.size();
}

}  // namespace

ProxyContext::ProxyContext(World world, GroupConfig config, EndpointResolver& resolver,
                           ProxyOptions options)
    : world_(world),
      resolver_(resolver),
      options_(options),
      view_(make_view(std::move(config), resolver)),
      health_(view_->config.disks.size(), options_),
      metrics_(options_.metrics, view_->config.id),
      pushes_(view_->config.disks.size()) {}

void ProxyContext::reconfigure(GroupConfig newer) {
  if (contradict(view_->config, newer)) {
    log_error("config refused", {{"reason", contradiction(view_->config, newer)}});
  }
  if (newer.generation <= view_->config.generation) return;
  const ViewPtr before = view_;
  view_ = make_view(std::move(newer), resolver_);
  const auto& now_at = view_->config.disks;
  const auto& was_at = before->config.disks;
  health_.resize(now_at.size());
  pushes_.resize(now_at.size());
  for (std::uint32_t order = 0; order < now_at.size(); ++order) {
    if (order >= was_at.size() || now_at[order] != was_at[order]) health_.forget(order);
  }
  log_info("group reconfigured", {{"group", fmt::format("{:x}", view_->config.id.value)},
                                  {"generation", view_->config.generation}});
}

void ProxyContext::send(const ReplyQueue& replies, std::uint32_t tag, const ViewPtr& view,
                        std::uint32_t order, RequestBody body, Instant deadline,
                        Operation operation) {
  background_.spawn(
      deliver(replies.queue_, tag, view, order, std::move(body), deadline, operation));
}

Task<void> ProxyContext::deliver(std::shared_ptr<ReplyQueue::Queue> queue, std::uint32_t tag,
                                 ViewPtr view, std::uint32_t order, RequestBody body,
                                 Instant deadline, Operation operation) {
  DiskEvent event;
  event.tag = tag;
  event.order = order;
  event.reply = co_await call(view, order, std::move(body), deadline, operation);
  if (!queue->over) queue->events.push(std::move(event));
}

Task<DiskReply> ProxyContext::call(ViewPtr view, std::uint32_t order, RequestBody body,
                                   Instant deadline, Operation operation) {
  DiskEndpoint* endpoint = view->endpoints[order].get();
  DiskReply reply;
  if (endpoint == nullptr) {
    reply.reason = "the disk has no known endpoint";
    co_return reply;
  }
  const std::size_t bytes = put_bytes(body);
  put_bytes_ += bytes;
  const bool alone = view->geometry().disks() == 1;
  Status taken = Status::kOk;  // How the last push of the config ended.
  for (std::uint32_t pushes = 0;; ++pushes) {
    const Instant sent = now();
    // A proxy does not move the only disk of a group to another generation.
    const bool last = alone || pushes == kConfigPushesMax;
    DiskRequest request{view->ids[order], last ? std::move(body) : body, view->digest};
    reply = co_await endpoint->call(std::move(request), deadline);
    note(*view, order, operation, sent, reply);
    if (last || !behind(*view, reply)) break;
    taken = co_await update_config_of(view, order, deadline);
    const bool late = taken == Status::kDeadline;
    if (taken != Status::kOk && (!late || now() >= deadline)) break;
  }
  // Silence is no refusal.
  if (taken == Status::kDeadline && behind(*view, reply)) {
    reply = DiskReply{};
    reply.status = Status::kDeadline;
    reply.reason = "it has an older config of the group and did not adopt the newer one in time";
  }
  put_bytes_ -= bytes;
  co_return reply;
}

void ProxyContext::note(const GroupView& view, std::uint32_t order, Operation operation,
                        Instant sent, const DiskReply& reply) {
  const auto& disks = view_->config.disks;
  if (order >= disks.size() || disks[order] != view.config.disks[order]) return;
  const Instant at = now();
  switch (reply.status) {
    case Status::kError:
    case Status::kNotReady:
    case Status::kDeadline:
    case Status::kNoGroup:
    case Status::kOutOfSpace: health_.failed(order, at); break;
    case Status::kRace: break;
    default: health_.replied(order, operation, at - sent, at);
  }
}

bool ProxyContext::must_restart(const ViewPtr& view, const DiskReply& reply) {
  const std::uint32_t generation = view->config.generation;
  if (view_->config.generation > generation) return true;
  if (!reply.config || reply.config->id != view->config.id || !check(*reply.config)) return false;
  if (contradict(view->config, *reply.config)) note_contradiction(*view, *reply.config);
  if (reply.config->generation <= generation) return false;
  reconfigure(*reply.config);
  return true;
}

// Logged once for each generation.
void ProxyContext::note_contradiction(const GroupView& view, const GroupConfig& theirs) {
  if (contradicted_ == theirs.generation) return;
  contradicted_ = theirs.generation;
  log_error("config refused by a disk", {{"reason", contradiction(view.config, theirs)}});
}

bool ProxyContext::behind(const GroupView& view, const DiskReply& reply) const {
  const GroupConfig& config = view.config;
  return reply.status == Status::kRace && reply.config && reply.config->id == config.id &&
         reply.config->generation < config.generation &&
         view_->config.generation == config.generation;
}

Task<Status> ProxyContext::update_config_of(ViewPtr view, std::uint32_t order, Instant deadline) {
  const std::uint32_t generation = view->config.generation;
  std::shared_ptr<Push> push = pushes_[order];
  if (!push || push->outcome || push->generation != generation) {
    push = std::make_shared<Push>(executor());
    push->generation = generation;
    pushes_[order] = push;
    background_.spawn(push_config(view, order, push));
  }
  if (!push->outcome) co_await push->ended.wait_until(deadline);
  co_return push->outcome.value_or(Status::kDeadline);
}

Task<void> ProxyContext::push_config(ViewPtr view, std::uint32_t order,
                                     std::shared_ptr<Push> push) {
  DiskRequest request{view->ids[order], Configure{view->config}, view->digest};
  const DiskReply reply =
      co_await view->endpoints[order]->call(std::move(request), now() + options_.timeout);
  const bool taken = reply.status == Status::kOk || reply.status == Status::kAlready;
  if (!taken) {
    log_warning("a disk with an older config of its group did not adopt the newer one",
                {{"disk", view->ids[order].to_string()},
                 {"status", to_string(reply.status)},
                 {"reason", reply.reason}});
  }
  push->outcome = taken ? Status::kOk : reply.status;
  push->ended.notify_all();
}

bool ProxyContext::begin_repair(const BlobId& id) {
  if (background_.closed() || repairs_.size() >= kRepairsMax) return false;
  return repairs_.insert(id).second;
}

std::string ProxyContext::refusal() const {
  if (background_.closed()) return "the proxy has stopped";
  if (commands_ >= kCommandsMax) return fmt::format("overloaded: {} commands in flight", commands_);
  if (background_.live() >= kDiskCallsMax) {
    return fmt::format("overloaded: {} disk calls in flight", background_.live());
  }
  if (put_bytes_ >= kPutBytesInFlightMax) {
    return fmt::format("overloaded: {} bytes being written", put_bytes_);
  }
  return {};
}

void ProxyContext::command_ended() {
  if (--commands_ == 0) idle_.notify_all();
}

Task<void> ProxyContext::joined() {
  while (commands_ > 0) co_await idle_.wait();
  co_await background_.join();
}

}  // namespace moraine::blob

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
      pushed_(view_->config.disks.size(), 0) {}

void ProxyContext::reconfigure(GroupConfig newer) {
  if (newer.generation <= view_->config.generation) return;
  const ViewPtr before = view_;
  view_ = make_view(std::move(newer), resolver_);
  const auto& now_at = view_->config.disks;
  const auto& was_at = before->config.disks;
  health_.resize(now_at.size());
  pushed_.resize(now_at.size(), 0);
  for (std::uint32_t order = 0; order < now_at.size(); ++order) {
    if (order >= was_at.size() || now_at[order] != was_at[order]) health_.forget(order);
  }
  log_info("group reconfigured", {{"group", fmt::format("{:x}", view_->config.id.value)},
                                  {"generation", view_->config.generation}});
}

void ProxyContext::send(const Talk& talk, std::uint32_t tag, const ViewPtr& view,
                        std::uint32_t order, RequestBody body, Instant deadline,
                        Operation operation) {
  background_.spawn(deliver(talk.line_, tag, view, order, std::move(body), deadline, operation));
}

Task<void> ProxyContext::deliver(std::shared_ptr<Talk::Line> line, std::uint32_t tag, ViewPtr view,
                                 std::uint32_t order, RequestBody body, Instant deadline,
                                 Operation operation) {
  DiskEvent event;
  event.tag = tag;
  event.order = order;
  event.reply = co_await call(view, order, std::move(body), deadline, operation);
  if (!line->over) line->events.push(std::move(event));
}

Task<DiskReply> ProxyContext::call(ViewPtr view, std::uint32_t order, RequestBody body,
                                   Instant deadline, Operation operation) {
  DiskEndpoint* endpoint = view->endpoints[order].get();
  DiskReply reply;
  if (endpoint == nullptr) {
    reply.reason = "no way to the disk";
    co_return reply;
  }
  const Instant sent = now();
  const std::size_t bytes = put_bytes(body);
  put_bytes_ += bytes;
  DiskRequest request{view->ids[order], std::move(body)};
  reply = co_await endpoint->call(std::move(request), deadline);
  put_bytes_ -= bytes;
  note(*view, order, operation, sent, reply);
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

bool ProxyContext::must_restart(const ViewPtr& view, std::uint32_t order, const DiskReply& reply) {
  const std::uint32_t generation = view->config.generation;
  if (view_->config.generation > generation) return true;
  if (!reply.config || reply.config->id != view->config.id || !check(*reply.config)) return false;
  if (reply.config->generation > generation) {
    reconfigure(*reply.config);
    return true;
  }
  if (reply.config->generation < generation && pushed_[order] < generation) {
    pushed_[order] = generation;
    background_.spawn(push_config(view, order));
  }
  return false;
}

Task<void> ProxyContext::push_config(ViewPtr view, std::uint32_t order) {
  RequestBody body = Configure{view->config};
  const DiskReply reply =
      co_await call(view, order, std::move(body), now() + options_.timeout, Operation::kIndex);
  if (reply.status == Status::kOk || reply.status == Status::kAlready) co_return;
  log_warning("a disk behind its group did not take the config",
              {{"disk", view->ids[order].to_string()}, {"status", to_string(reply.status)}});
  if (order < pushed_.size() && pushed_[order] == view->config.generation) pushed_[order] = 0;
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
  if (--commands_ > 0 || !idle_) return;
  world_.executor.post([idle = std::move(idle_)] { idle->set(true); });
}

Task<void> ProxyContext::joined() {
  if (commands_ > 0) {
    idle_ = std::make_shared<OneShot<bool>>();
    const std::shared_ptr<OneShot<bool>> idle = idle_;
    co_await *idle;
  }
  co_await background_.join();
}

}  // namespace moraine::blob

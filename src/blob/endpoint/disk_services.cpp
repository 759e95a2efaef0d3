#include "blob/endpoint/disk_services.h"

#include "base/invariant.h"
#include "blob/endpoint/replies.h"
#include "io/sync.h"

namespace moraine::blob {

// Belongs to the caller's executor. Set by the service's reply or the deadline, whichever is first.
struct DiskServices::Outcome : OneShot<DiskReply> {};

void DiskServices::add(const DiskAddress& address, const std::shared_ptr<DiskService>& service) {
  auto entry = std::make_shared<Entry>();
  entry->service = service;
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Entry>& place = entries_[address];
  INVARIANT(!place || place->service.expired(), "two disks at {}", to_string(address));
  place = std::move(entry);
}

void DiskServices::remove(const DiskAddress& address) {
  const std::lock_guard lock(mutex_);
  entries_.erase(address);
}

Task<DiskReply> DiskServices::call(DiskAddress address, DiskRequest request, Executor& home,
                                   Instant deadline) {
  std::shared_ptr<Entry> entry;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(address);
    if (found != entries_.end()) entry = found->second;
  }
  if (deadline <= home.now()) co_return deadline_reply("the deadline had passed before the call");
  if (!entry) co_return error_reply(to_string(address) + ": not running");
  if (entry->calls.fetch_add(1, std::memory_order_relaxed) >= kServiceCallsMax) {
    entry->calls.fetch_sub(1, std::memory_order_relaxed);
    co_return error_reply(
        fmt::format("{}: overloaded by {} calls", to_string(address), kServiceCallsMax));
  }
  // From here on the reference moves to the service's executor, and is released only there.
  std::shared_ptr<DiskService> service = entry->service.lock();
  if (!service) {
    entry->calls.fetch_sub(1, std::memory_order_relaxed);
    co_return error_reply(to_string(address) + ": not running");
  }
  auto outcome = std::make_shared<Outcome>();
  spawn(serve(std::move(service), std::move(entry), std::move(request), home, outcome));

  TimerId timer;
  if (deadline != Instant::never() && !outcome->ready()) {
    timer = home.schedule(deadline, [outcome, address] {
      outcome->set(deadline_reply(to_string(address) + ": no reply in time"));
    });
  }
  DiskReply reply = co_await *outcome;
  if (timer.value != 0) home.cancel(timer);
  co_return reply;
}

Task<void> DiskServices::serve(std::shared_ptr<DiskService> service, std::shared_ptr<Entry> entry,
                               DiskRequest request, Executor& home,
                               std::shared_ptr<Outcome> outcome) {
  co_await hop(service->executor());
  DiskReply reply = co_await service->handle(std::move(request));
  service.reset();
  entry->calls.fetch_sub(1, std::memory_order_relaxed);
  co_await hop(home);
  outcome->set(std::move(reply));
}

}  // namespace moraine::blob

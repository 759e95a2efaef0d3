// FakeDisk: a DiskService for tests, which answers a put with an empty success, and a get with the
// bytes "part" for each query.
#pragma once

#include <vector>

#include "blob/endpoint/disk_service.h"
#include "blob/endpoint/replies.h"
#include "io/sync.h"

namespace moraine::blob {

class FakeDisk final : public DiskService {
 public:
  explicit FakeDisk(Executor& executor) : executor_(executor) {}
  ~FakeDisk() override {
    if (destroyed) *destroyed = executor_.on_this_thread();
  }

  Executor& executor() override { return executor_; }
  Task<DiskReply> handle(DiskRequest request) override {
    on_own_thread = on_own_thread && executor_.on_this_thread();
    if (const auto* put = std::get_if<PutPart>(&request.body)) last_put = put->data.joined();
    if (delay > Duration{0}) co_await sleep_for(executor_, delay);
    if (gate) co_await *gate;
    ++handled;
    if (fixed_reply) co_return *fixed_reply;
    co_return answer(request);
  }

  Duration delay{0};
  OneShot<bool>* gate = nullptr;  // Requests wait for it.
  std::optional<DiskReply> fixed_reply;
  int handled = 0;
  bool on_own_thread = true;
  Slice last_put;
  // Set by the destructor: whether it ran on the executor's thread.
  std::optional<bool>* destroyed = nullptr;

 private:
  DiskReply answer(const DiskRequest& request) const {
    DiskReply reply;
    reply.status = Status::kOk;
    reply.incarnation = 42;
    if (std::holds_alternative<PutPart>(request.body)) {
      reply.body = PutPartReply{};
    } else if (const auto* get = std::get_if<GetParts>(&request.body)) {
      GetPartsReply parts;
      for (std::uint32_t i = 0; i < get->queries.size(); ++i) {
        parts.answers.push_back({i, Status::kOk, 1, Slice::copy_of("part"), {}});
      }
      reply.body = std::move(parts);
    } else {
      reply = error_reply("a fake disk only puts and gets");
    }
    return reply;
  }

  Executor& executor_;
};

inline DiskRequest put_request(std::string_view data) {
  const BlobId id(TabletId{1}, 1, 1, 0, static_cast<std::uint32_t>(data.size()), 0, 1);
  return {VDiskId{GroupId{1}, 1, {}}, PutPart{id, Slice::copy_of(data), false, {}}};
}

inline DiskRequest get_request(std::size_t queries) {
  const BlobId id(TabletId{1}, 1, 1, 0, 4, 0, 0);
  GetParts get;
  get.queries.resize(queries, PartQuery{id, 0, 0});
  return {VDiskId{GroupId{1}, 1, {}}, std::move(get)};
}

}  // namespace moraine::blob

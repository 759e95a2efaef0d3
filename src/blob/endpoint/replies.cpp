#include "blob/endpoint/replies.h"

#include <fmt/format.h>

namespace moraine::blob {
namespace {

DiskReply reply_of(Status status, std::string reason) {
  DiskReply reply;
  reply.status = status;
  reply.reason = std::move(reason);
  return reply;
}

}  // namespace

std::string to_string(const DiskAddress& address) {
  return fmt::format("node {} device {} slot {}", address.node.value, address.device, address.slot);
}

DiskReply error_reply(std::string reason) {
  return reply_of(Status::kError, std::move(reason));
}

DiskReply deadline_reply(std::string reason) {
  return reply_of(Status::kDeadline, std::move(reason));
}

}  // namespace moraine::blob

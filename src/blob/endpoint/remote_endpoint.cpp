#include "blob/endpoint/remote_endpoint.h"

#include <fmt/format.h>

#include "blob/endpoint/envelope.h"
#include "blob/endpoint/replies.h"
#include "blob/protocol_codec.h"

namespace moraine::blob {
namespace {

// What is kept of a request to check its reply.
struct Asked {
  std::size_t body;  // Index of the request's body.
  std::size_t queries;
};

Asked asked_by(const DiskRequest& request) {
  const auto* get = std::get_if<GetParts>(&request.body);
  return {request.body.index(), get ? get->queries.size() : 0};
}

Result<void> check_fits(const Asked& asked, const DiskReply& reply) {
  const bool has_body = !std::holds_alternative<std::monostate>(reply.body);
  if (!has_body && reply.status == Status::kOk) {
    return fail(Errc::kCorrupt, "the reply is OK but has no body");
  }
  // Bodies of replies are in the order of the requests, after monostate.
  if (has_body && reply.body.index() != asked.body + 1) {
    return fail(Errc::kCorrupt, "the reply is to another kind of request");
  }
  if (const auto* parts = std::get_if<GetPartsReply>(&reply.body)) {
    for (const PartAnswer& answer : parts->answers) {
      if (answer.query < asked.queries) continue;
      return fail(Errc::kCorrupt,
                  fmt::format("the reply answers query {} of {}", answer.query, asked.queries));
    }
  }
  return {};
}

Result<DiskReply> open_reply(const DiskAddress& address, const Asked& asked, const Slice& frame) {
  TRY(const Envelope envelope, open_envelope(frame));
  TRY(DiskReply reply, decode_reply(envelope.content));
  if (envelope.device != address.device || envelope.slot != address.slot) {
    return fail(Errc::kCorrupt, fmt::format("the reply comes from device {} slot {}: {}",
                                            envelope.device, envelope.slot, reply.reason));
  }
  TRY_VOID(check_fits(asked, reply));
  return reply;
}

Task<DiskReply> call_remote(Network& network, DiskAddress address, DiskRequest request,
                            Instant deadline) {
  const auto explained = [&](const Error& error) {
    return fmt::format("{}: {}", to_string(address), error.message());
  };
  const Asked asked = asked_by(request);
  Slice frame = seal(address, encode_pieces(request));
  if (frame.size() > kFrameBytesMax) {
    co_return error_reply(fmt::format("{}: the request has {} bytes, over the maximum {}",
                                      to_string(address), frame.size(), kFrameBytesMax));
  }
  request = {};
  const Result<Slice> answer = co_await network.call(address.node, std::move(frame), deadline);
  if (!answer) {
    co_return answer.error().code == Errc::kTimeout ? deadline_reply(explained(answer.error()))
                                                    : error_reply(explained(answer.error()));
  }
  Result<DiskReply> reply = open_reply(address, asked, *answer);
  if (!reply) co_return error_reply(explained(reply.error()));
  co_return std::move(*reply);
}

}  // namespace

// Not a coroutine itself, so that the task does not refer to this endpoint.
Task<DiskReply> RemoteEndpoint::call(DiskRequest request, Instant deadline) {
  return call_remote(network_, address_, std::move(request), deadline);
}

}  // namespace moraine::blob

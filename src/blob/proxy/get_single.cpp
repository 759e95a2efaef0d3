// Get of a group of one disk: the disk's answers are the result, awaited in place.
#include <fmt/format.h>

#include <algorithm>

#include "blob/ingress.h"
#include "blob/proxy/failures.h"
#include "blob/proxy/get.h"

namespace moraine::blob {
namespace {

// Queries from `at` on, as many as fit into one message.
GetParts message_from(const GetRequest& request, std::size_t at) {
  GetParts body;
  body.index_only = request.index_only;
  body.force_block = request.force_block;
  body.reader = request.reader;
  const std::size_t count = std::min(kPartQueriesMax, request.queries.size() - at);
  body.queries.reserve(count);
  std::size_t bytes = 0;
  for (std::size_t i = at; i < at + count; ++i) {
    const GetQuery& query = request.queries[i];
    bytes += asked_bytes(query);
    if (i > at && bytes > kGetReplyBytesMax) break;
    body.queries.push_back({query.id.with_part(1), query.shift, asked_bytes(query)});
  }
  return body;
}

// Takes the answers of the message that began at query `at`; returns how many queries it answered.
std::size_t take_answers(const GetRequest& request, std::size_t at, std::size_t asked,
                         const GetPartsReply& reply, GetResult& result) {
  std::size_t settled = 0;
  for (const PartAnswer& answer : reply.answers) {
    if (answer.query >= asked || answer.query < settled) break;
    settled = answer.query + 1;
    GetItem& item = result.items[at + answer.query];
    item.keep = keep_flag(answer.ingress);
    item.do_not_keep = do_not_keep_flag(answer.ingress);
    const std::size_t wanted =
        request.index_only ? 0 : asked_bytes(request.queries[at + answer.query]);
    if (answer.status == Status::kNoData) {
      item.status = Status::kNoData;
    } else if (answer.status == Status::kOk &&
               (request.index_only || answer.data.size() == wanted)) {
      item.status = Status::kOk;
      item.data = answer.data;
    } else {
      item.damaged = answer.status == Status::kCorrupted;
      if (!result.reason.empty()) continue;
      result.reason =
          fmt::format("the disk returned {} for {}", to_string(answer.status), item.id.to_string());
    }
  }
  return reply.truncated ? settled : asked;
}

}  // namespace

Task<std::optional<GetResult>> get_single(ProxyContext& context, ViewPtr view,
                                          const GetRequest& request) {
  const std::size_t count = request.queries.size();
  GetResult result;
  result.status = Status::kOk;
  result.items.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    result.items[i].id = request.queries[i].id;
    result.items[i].shift = request.queries[i].shift;
  }
  for (std::size_t at = 0; at < count;) {
    GetParts body = message_from(request, at);
    const std::size_t asked = body.queries.size();
    const DiskReply reply =
        co_await context.call(view, 0, std::move(body), request.deadline,
                              request.index_only ? Operation::kIndex : Operation::kRead);
    if (reply.status == Status::kRace && context.must_restart(view, reply)) {
      co_return std::nullopt;
    }
    const auto* answers = std::get_if<GetPartsReply>(&reply.body);
    if (reply.status == Status::kOk && answers != nullptr) {
      const std::size_t settled = take_answers(request, at, asked, *answers, result);
      if (settled > 0) {
        at += settled;
        continue;
      }
    }
    const bool final = reply.status == Status::kBlocked || reply.status == Status::kDeadline;
    Failures failures;
    failures.add(0, reply.status, reply.reason);
    result.reason = final ? disk_reason(0, reply.reason) : failures.reason("the blob's only disk");
    if (final) result.status = reply.status;
    for (; at < count; ++at) result.items[at].status = final ? reply.status : Status::kError;
  }
  co_return result;
}

}  // namespace moraine::blob

#include "blob/proxy/read_session.h"

#include <algorithm>
#include <span>

#include "blob/group/erasure.h"

namespace moraine::blob {
namespace {

constexpr std::size_t kIndexAnswerBytes = 64;

}  // namespace

ReadSession::ReadSession(ProxyContext& context, ViewPtr view, ReadMode mode,
                         std::vector<ReadPlan*> plans)
    : context_(context),
      view_(std::move(view)),
      mode_(std::move(mode)),
      plans_(std::move(plans)),
      undone_(plans_.size()),
      finished_(plans_.size(), false),
      outbox_(view_->geometry().disks()),
      replies_(context.executor()) {}

std::size_t ReadSession::bytes_of(const Item& item) const {
  if (mode_.index_only) return kIndexAnswerBytes;
  if (item.ask.size != 0) return item.ask.size;
  return stored_part_size(view_->geometry().species(), plans_[item.plan]->id().size());
}

// Moves the plan's next reads into the outbox.
void ReadSession::advance(std::uint32_t index) {
  ReadPlan& plan = *plans_[index];
  if (finished_[index]) return;
  if (!plan.done()) {
    asks_.clear();
    plan.next(asks_);
    for (const ReadAsk& ask : asks_) {
      outbox_[plan.subgroup().order[ask.slot]].push_back({index, ask});
    }
  }
  if (!plan.done()) return;
  finished_[index] = true;
  --undone_;
}

void ReadSession::flush() {
  for (std::uint32_t order = 0; order < outbox_.size(); ++order) {
    std::vector<Item> items;
    std::size_t bytes = 0;
    for (const Item& item : outbox_[order]) {
      const std::size_t more = bytes_of(item);
      const bool full = items.size() == kPartQueriesMax || bytes + more > kGetReplyBytesMax;
      if (full && !items.empty()) {
        send(order, std::move(items), bytes);
        items.clear();
        bytes = 0;
      }
      items.push_back(item);
      bytes += more;
    }
    outbox_[order].clear();
    if (!items.empty()) send(order, std::move(items), bytes);
  }
}

void ReadSession::send(std::uint32_t order, std::vector<Item> items, std::size_t bytes) {
  GetParts body;
  body.index_only = mode_.index_only;
  body.force_block = mode_.force_block;
  body.reader = mode_.reader;
  body.queries.reserve(items.size());
  for (const Item& item : items) {
    PartQuery query;
    query.id = plans_[item.plan]->id().with_part(item.ask.part);
    query.shift = item.ask.offset;
    query.size = item.ask.size;
    body.queries.push_back(query);
  }
  const Operation operation = mode_.index_only ? Operation::kIndex : Operation::kRead;
  const auto tag = static_cast<std::uint32_t>(messages_.size());
  Message message;
  message.order = order;
  message.items = std::move(items);
  message.sent = context_.now();
  message.hedge_at =
      context_.now() + context_.health().hedge_delay(operation, bytes, context_.now());
  messages_.push_back(std::move(message));
  context_.send(replies_, tag, view_, order, std::move(body), mode_.deadline, operation);
}

Instant ReadSession::next_hedge() const {
  Instant at = Instant::never();
  for (const Message& message : messages_) {
    if (message.waiting) at = std::min(at, message.hedge_at);
  }
  return at;
}

void ReadSession::hedge() {
  const Instant now = context_.now();
  const Operation operation = mode_.index_only ? Operation::kIndex : Operation::kRead;
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    if (!messages_[i].waiting || messages_[i].hedge_at > now) continue;
    messages_[i].hedge_at = Instant::never();
    context_.health().late(messages_[i].order, operation, now - messages_[i].sent, now);
    for (const Item& item : messages_[i].items) {
      if (finished_[item.plan]) continue;
      plans_[item.plan]->late(item.ask.slot);
      advance(item.plan);
    }
  }
}

void ReadSession::fail_items(const Message& message, std::size_t from) {
  for (std::size_t i = from; i < message.items.size(); ++i) {
    const Item& item = message.items[i];
    if (finished_[item.plan]) continue;
    plans_[item.plan]->failed(item.ask);
    advance(item.plan);
  }
}

// Passes each read its answers; what a truncated reply left out is read again.
void ReadSession::take_answers(Message& message, const DiskReply& reply) {
  const auto* body = std::get_if<GetPartsReply>(&reply.body);
  if (body == nullptr) return fail_items(message, 0);
  const AnswerOrigin origin{reply.incarnation, message.sent};
  const std::span<const PartAnswer> answers(body->answers);
  std::size_t at = 0;
  std::size_t query = 0;
  for (; query < message.items.size(); ++query) {
    std::size_t end = at;
    while (end < answers.size() && answers[end].query == query) ++end;
    // The last answered read may lack parts of its answer: it is repeated, unless it is the first.
    const bool cut = body->truncated && end == answers.size() &&
                     (end == at || (query > 0 && message.items[query].ask.part == 0));
    if (cut) break;
    const Item& item = message.items[query];
    if (!finished_[item.plan]) {
      plans_[item.plan]->answered(item.ask, answers.subspan(at, end - at), origin);
      advance(item.plan);
    }
    at = end;
  }
  if (query == 0) return fail_items(message, 0);
  for (; query < message.items.size(); ++query) {
    outbox_[message.order].push_back(message.items[query]);
  }
}

Status ReadSession::take(DiskEvent event) {
  // The plans' next reads append to messages_, so this message is moved out of it.
  Message message = std::move(messages_[event.tag]);
  messages_[event.tag].waiting = false;
  const DiskReply& reply = event.reply;
  switch (reply.status) {
    case Status::kOk: take_answers(message, reply); return Status::kOk;
    case Status::kBlocked:
      failures_.add(event.order, reply.status, reply.reason);
      return Status::kBlocked;
    case Status::kRace:
      if (context_.must_restart(view_, reply)) return Status::kRace;
      break;
    case Status::kDeadline:
      if (context_.now() >= mode_.deadline) return Status::kDeadline;
      break;
    default: break;
  }
  failures_.add(event.order, reply.status, reply.reason);
  fail_items(message, 0);
  return Status::kOk;
}

Task<Status> ReadSession::run() {
  for (std::uint32_t i = 0; i < plans_.size(); ++i) advance(i);
  while (undone_ > 0) {
    flush();
    std::optional<DiskEvent> event = co_await replies_.next(std::min(mode_.deadline, next_hedge()));
    if (event) {
      const Status status = take(std::move(*event));
      if (status != Status::kOk) co_return status;
    } else if (context_.now() >= mode_.deadline) {
      co_return Status::kDeadline;
    } else {
      hedge();
    }
  }
  co_return Status::kOk;
}

}  // namespace moraine::blob

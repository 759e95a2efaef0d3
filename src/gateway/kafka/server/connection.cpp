#include "gateway/kafka/server/connection.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/held_bytes.h"
#include "base/log.h"
#include "queue/kafka/reader.h"

namespace moraine::kafka {
namespace {

constexpr std::string_view kNotReading = "the client does not read its answers";

// Yields after so many bytes: a client that always has data must not starve others. A request
// counts as some bytes.
constexpr std::size_t kTurnBytes = std::size_t{1} << 20;
constexpr std::size_t kTurnBytesPerRequest = std::size_t{32} << 10;

Task<void> serve_stream(KafkaService& service, std::shared_ptr<ByteStream> stream) {
  KafkaConnection connection(service, std::move(stream));
  co_await connection.run();
}

std::size_t bytes_of(const std::vector<Slice>& slices) {
  std::size_t bytes = 0;
  for (const Slice& slice : slices) bytes += slice.size();
  return bytes;
}

// Releases the first `bytes`, from slice `at` on, and empty slices behind them.
void drop_sent(std::vector<Slice>& slices, std::size_t& at, std::size_t bytes) {
  while (at < slices.size() && slices[at].size() <= bytes) {
    bytes -= slices[at].size();
    slices[at++] = {};
  }
  if (bytes > 0) slices[at] = slices[at].sub(bytes, slices[at].size() - bytes);
}

}  // namespace

StreamHandler serve_kafka(KafkaService& service) {
  return [&service](std::shared_ptr<ByteStream> stream) {
    return serve_stream(service, std::move(stream));
  };
}

KafkaConnection::KafkaConnection(KafkaService& service, std::shared_ptr<ByteStream> stream)
    : service_(service),
      stream_(std::move(stream)),
      client_(std::make_shared<Client>(stream_->peer())),
      watchdog_(service.executor(), [this](std::string_view reason) { expired(reason); }),
      writer_(service.context().slow_readers, [this] { expired(kNotReading); }),
      input_(*stream_, service.requests(), watchdog_) {
  service_.metrics().connections.add(1);
}

KafkaConnection::~KafkaConnection() {
  service_.metrics().connections.add(-1);
}

Task<void> KafkaConnection::run() {
  for (std::size_t turn = 0; !closed_;) {
    Result<std::optional<RequestFrame>> frame = co_await input_.next();
    if (!frame && frame.error().code != Errc::kUnavailable) fail_with(frame.error().context);
    if (closed_ || !frame || !*frame) break;
    RequestFrame& arrived = **frame;
    service_.metrics().bytes_in.add(kSizePrefixBytes + arrived.bytes.size());
    const auto api = static_cast<ApiKey>(load_big<std::int16_t>(arrived.bytes.data()));
    while (!closed_ && !may_begin(api)) co_await changed_.wait();
    if (closed_) break;
    // Here, and not in the handler: requests begin in their order.
    const std::size_t handling = KafkaService::handling_bytes(arrived.bytes);
    if (handling > 0) co_await service_.requests().grow(arrived.lease, handling);
    while (!closed_ && !may_begin(api)) co_await changed_.wait();
    turn += kTurnBytesPerRequest + arrived.bytes.size();
    if (!closed_) begin(std::move(**frame));
    if (turn < kTurnBytes) continue;
    turn = 0;
    co_await yield(service_.executor());
  }
  closed_ = true;
  stream_->close();
  client_->leave();
  co_await tasks_.join();
}

bool KafkaConnection::may_begin(ApiKey api) const {
  const bool crowded = service_.responses().crowded();
  if (queue_.size() >= kPipelinedRequestsMax) return false;
  if (unsent_bytes_ > (crowded ? kCrowdedUnsentBytesMax : kUnsentBytesMax)) return false;
  if (crowded && api == ApiKey::kFetch && unsent_bytes_ > 0) return false;
  if (api == ApiKey::kProduce) return unfinished_ == produces_ + fetches_;
  return unfinished_ == 0;
}

void KafkaConnection::count(ApiKey api, std::ptrdiff_t change) {
  const auto by = static_cast<std::size_t>(change);  // -1 wraps around as it should.
  unfinished_ += by;
  if (api == ApiKey::kProduce) produces_ += by;
  if (api == ApiKey::kFetch) fetches_ += by;
}

void KafkaConnection::count_unsent(std::ptrdiff_t change) {
  unsent_bytes_ += static_cast<std::size_t>(change);
  client_->set_unsent_bytes(unsent_bytes_);
}

void KafkaConnection::begin(RequestFrame frame) {
  Request& request = queue_.emplace_back();
  request.api = static_cast<ApiKey>(load_big<std::int16_t>(frame.bytes.data()));
  count(request.api, 1);
  tasks_.spawn(handle(request, std::move(frame)));
}

Task<void> KafkaConnection::handle(Request& request, RequestFrame frame) {
  auto memory = std::make_shared<ByteBudget::Lease>(std::move(frame.lease));
  request.answer = co_await service_.handle(std::move(frame.bytes), client_, std::move(memory));
  const std::size_t held = HeldBytes(request.answer.slices).total();
  request.unsent = std::move(request.answer.room);
  if (request.unsent.budget() == nullptr) request.unsent = service_.responses().force(0);
  request.unsent.settle(held);
  count_unsent(static_cast<std::ptrdiff_t>(held));
  count(request.api, -1);
  request.done = true;
  changed_.notify_all();
  if (!writing_ && queue_.front().done) {
    writing_ = true;
    tasks_.spawn(write_ready());
  }
}

Task<void> KafkaConnection::write_ready() {
  while (!closed_ && !queue_.empty() && queue_.front().done) {
    std::vector<Slice> slices;
    std::vector<ByteBudget::Lease> leases;
    const bool go_on = collect(slices, leases);
    const std::size_t bytes = bytes_of(slices);
    const std::string reason = go_on ? "" : queue_.front().answer.reason;
    writer_.begin(leases);
    const bool sent = co_await send(std::move(slices));
    writer_.end();
    for (const ByteBudget::Lease& lease : leases) {
      count_unsent(-static_cast<std::ptrdiff_t>(lease.bytes()));
    }
    leases.clear();
    if (sent) client_->took(bytes);
    service_.metrics().bytes_out.add(sent ? bytes : 0);
    changed_.notify_all();
    if (!sent || closed_) break;
    if (!go_on) fail_with(reason);
  }
  writing_ = false;
}

bool KafkaConnection::collect(std::vector<Slice>& slices, std::vector<ByteBudget::Lease>& leases) {
  std::size_t bytes = 0;
  while (!queue_.empty() && queue_.front().done && bytes < kWriteBytesMax) {
    Request& request = queue_.front();
    if (request.answer.kind == Answer::Kind::kClose) return false;
    for (Slice& slice : request.answer.slices) {
      bytes += slice.size();
      slices.push_back(std::move(slice));
    }
    leases.push_back(std::move(request.unsent));
    queue_.pop_front();
  }
  return true;
}

Task<bool> KafkaConnection::send(std::vector<Slice> slices) {
  bool sent = true;
  std::size_t at = 0;
  std::size_t timed = 0;  // Bytes that the deadline is still for.
  std::size_t taken = 0;  // Since the last progress.
  std::size_t turn = 0;
  drop_sent(slices, at, 0);
  while (sent && at < slices.size()) {
    if (timed == 0) {
      watchdog_.writing(kStalledWriteTimeout, kNotReading);
      timed = kWriteBytesMax;
    }
    const auto some = co_await stream_->write_some(std::span(slices).subspan(at), kWriteBytesMax);
    sent = some.has_value();
    if (!sent) break;
    drop_sent(slices, at, *some);
    timed -= std::min(timed, *some);
    taken += *some;
    if (taken >= kProgressBytes) writer_.progressed();
    taken %= kProgressBytes;
    turn += *some;
    if (turn < kTurnBytes) continue;
    turn = 0;
    co_await yield(service_.executor());
  }
  watchdog_.not_writing();
  if (!sent) {
    closed_ = true;
    stream_->close();
  }
  co_return sent;
}

void KafkaConnection::expired(std::string_view reason) {
  const bool idle = reason == kIdleReason;
  if (idle && (unfinished_ > 0 || writing_)) {
    watchdog_.reading(kIdleTimeout, kIdleReason);
    return;
  }
  if (idle) log_debug("idle kafka client closed", {{"peer", client_->peer()}});
  if (!idle) service_.closed_for_cause(client_->peer(), std::string(reason));
  closed_ = true;
  stream_->close();
  changed_.notify_all();
}

void KafkaConnection::fail_with(const std::string& reason) {
  if (closed_) return;
  service_.closed_for_cause(client_->peer(), reason);
  closed_ = true;
  stream_->close();
  changed_.notify_all();
}

}  // namespace moraine::kafka

#include "sim/incarnation.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/coding.h"

namespace moraine::sim {
namespace {

constexpr int kWriters = 3;
constexpr std::size_t kBlobBytesMax = 6'000;
constexpr std::size_t kBlobsAlive = 6;      // Above this the oldest is dropped.
constexpr std::size_t kPageBytes = 300;     // Snapshots have several pages.
constexpr std::uint64_t kThinkMaxMs = 120;  // Maximum time between two commits of a writer.

enum class Record : std::uint8_t { kWord = 1, kDrop = 2 };

void encode_id(Encoder& encoder, const BlobId& id) {
  std::array<std::byte, blob::kBlobIdBytes> bytes;
  id.encode(bytes.data());
  encoder.raw(bytes);
}

LeaderOptions quick_leader() {
  LeaderOptions options;
  options.timeout = 4s;
  options.snapshot_log_bytes = 1'500;
  options.collect_period = 250ms;
  options.bytes_in_flight = 1'000;
  options.leftover_ids = 4;
  return options;
}

}  // namespace

Slice WordList::encode_word(const std::string& word, const std::vector<BlobId>& ids) {
  Encoder encoder;
  encoder.u8(static_cast<std::uint8_t>(Record::kWord)).sized(word);
  encoder.u8(static_cast<std::uint8_t>(ids.size()));
  for (const BlobId& id : ids) encode_id(encoder, id);
  return encoder.slice();
}

Slice WordList::encode_drop(const BlobId& id) {
  Encoder encoder;
  encoder.u8(static_cast<std::uint8_t>(Record::kDrop));
  encode_id(encoder, id);
  return encoder.slice();
}

void WordList::drop(const BlobId& id) {
  std::erase(blobs, id);
}

Result<void> WordList::replay(const Slice& body) {
  Decoder decoder(body);
  while (decoder.remaining() > 0) {
    if (static_cast<Record>(decoder.u8()) == Record::kDrop) {
      drop(BlobId::decode(decoder.raw(blob::kBlobIdBytes).data()));
      continue;
    }
    const std::string word(as_text(decoder.sized()));
    const std::uint8_t count = decoder.u8();
    for (int i = 0; i < count && !decoder.failed(); ++i) {
      blobs.push_back(BlobId::decode(decoder.raw(blob::kBlobIdBytes).data()));
    }
    if (decoder.failed()) return fail(Errc::kCorrupt, "chronicle");
    if (!word.empty()) words.push_back(word);
  }
  return {};
}

Result<void> WordList::restore(const std::vector<Slice>& pages) {
  restored = true;
  for (const Slice& page : pages) {
    TRY_VOID(replay(page));
  }
  return {};
}

std::vector<Slice> WordList::snapshot() const {
  std::vector<Slice> pages;
  Encoder page;
  for (const std::string& word : words) {
    page.raw(encode_word(word, {}));
    if (page.size() < kPageBytes) continue;
    pages.push_back(page.slice());
    page = Encoder();
  }
  page.raw(encode_word("", blobs));
  pages.push_back(page.slice());
  return pages;
}

Incarnation::Incarnation(Cluster& cluster, std::size_t client, std::string name, Duration life)
    : cluster_(cluster),
      host_(cluster.client_host(client)),
      world_(cluster.node(host_).world()),
      name_(std::move(name)),
      until_(world_.executor.now() + life),
      options_(quick_leader()),
      random_(world_.random.next()) {}

blob::Proxy* Incarnation::group(blob::GroupId id) {
  blob::BlobNode* node = cluster_.blob_node(host_);
  return node ? node->proxy(id) : nullptr;
}

void Incarnation::start(const std::shared_ptr<Incarnation>& self) {
  self->cluster_.node(self->host_).on_stop([self] {
    if (self->leader_) self->leader_->abandon();
  });
  self->world_.executor.post([self] { spawn(live(self)); });
}

Task<void> Incarnation::live(std::shared_ptr<Incarnation> self) {
  auto booted = co_await Leader::boot(self->world_, *self, info(), self->state_, self->options_);
  if (!booted) {
    self->refusal_ = booted.error().message();
    self->over_ = true;
    co_return;
  }
  self->leader_ = std::move(*booted);
  self->generation_ = self->leader_->generation();
  self->found_ = self->state_.words;
  self->booted_ = true;
  TaskScope writers;
  for (int writer = 0; writer < kWriters; ++writer) writers.spawn(self->write_words(writer));
  co_await writers.join();
  co_await self->leader_->stop(self->random_.one_in(3));
  self->over_ = true;
}

bool Incarnation::keep_running() const {
  return !leader_->ended() && world_.executor.now() < until_;
}

Task<void> Incarnation::write_words(int writer) {
  for (int number = 0; keep_running(); ++number) {
    if (writer == 0 && state_.blobs.size() > kBlobsAlive) {
      (void)co_await drop_one();
      continue;
    }
    std::string word = fmt::format("{}/{}-{}", name_, writer, number);
    const std::size_t bytes = random_.one_in(3) ? 1 + random_.below(kBlobBytesMax) : 0;
    const auto committed = co_await say(word, bytes);
    if (committed) acknowledged_.push_back(std::move(word));
    co_await sleep_for(world_.executor, Duration(1ms) * random_.below(kThinkMaxMs));
  }
}

Task<Result<void>> Incarnation::say(std::string word, std::size_t blob_bytes) {
  CommitRequest request;
  if (blob_bytes > 0) {
    DataBlob data;
    data.data = Buffer::zeroed(blob_bytes).freeze();
    request.blobs.push_back(std::move(data));
  }
  request.body = [word](const std::vector<BlobId>& ids) {
    return WordList::encode_word(word, ids);
  };
  Leader::Confirmed confirmed = [this, word](const std::vector<BlobId>& ids) {
    state_.words.push_back(word);
    state_.blobs.insert(state_.blobs.end(), ids.begin(), ids.end());
  };
  co_return co_await leader_->commit(std::move(request), std::move(confirmed));
}

Task<Result<void>> Incarnation::drop_one() {
  const BlobId id = state_.blobs.front();
  CommitRequest request;
  request.body = [id](const std::vector<BlobId>&) { return WordList::encode_drop(id); };
  Leader::Confirmed confirmed = [this, id](const std::vector<BlobId>&) {
    state_.drop(id);
    leader_->discard({id});
  };
  co_return co_await leader_->commit(std::move(request), std::move(confirmed));
}

}  // namespace moraine::sim

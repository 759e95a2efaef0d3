// A simulated machine with two `none` groups, and the smallest tablet on it: a list of words. For
// tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/coding.h"
#include "blob/node/blob_node.h"
#include "io/sim/sim_world.h"
#include "tablet/leader.h"

namespace moraine {

inline constexpr GroupId kTestGroup{0x82000000};
inline constexpr GroupId kOtherGroup{0x82000001};

class TestStorage final : public BlobGroups {
 public:
  // A device of 64 segments. A blob is shorter than a segment.
  explicit TestStorage(SimWorld& world, std::uint32_t segment_bytes = 1u << 20,
                       blob::BlobNodeOptions options = {})
      : world_(world), segment_bytes_(segment_bytes), options_(options), node_(world.add_node()) {
    start();
  }

  blob::Proxy* group(GroupId id) override { return storage_->proxy(id); }
  void locate(GroupId group, const BlobId& id, OnPlace found) override {
    if (const auto place = storage_->locate(group, id)) found(*place);
  }
  World world() { return node_.world(); }
  SimNode& node() { return node_; }
  blob::BlobNode& storage() { return *storage_; }

  void start() {
    blob::ClusterConfig config = blob::single_node_config("device", 64ull * segment_bytes_);
    config.nodes[0].id = node_.id();
    config.nodes[0].devices[0].segment_size = segment_bytes_;
    config.groups[0].id = kTestGroup;
    config.groups[0].disks[0].node = node_.id();
    config.groups.push_back(config.groups[0]);
    config.groups[1].id = kOtherGroup;
    config.groups[1].disks[0].slot = 1;
    storage_ = std::make_unique<blob::BlobNode>(node_.world(), config, node_.id(), options_);
    const auto started = world_.run(storage_->start());
    INVARIANT(started, "{}", started.error().message());
    node_.on_stop([this] { storage_->abandon(); });
    node_.on_crash([this] { storage_.reset(); });
  }
  void crash() {
    node_.crash();
    node_.restart();
    start();
  }

 private:
  SimWorld& world_;
  const std::uint32_t segment_bytes_;
  const blob::BlobNodeOptions options_;
  SimNode& node_;
  std::unique_ptr<blob::BlobNode> storage_;
};

// Words in the log; a long word is a blob.
class WordsState final : public TabletState {
 public:
  std::vector<std::string> words;
  std::vector<BlobId> blobs;

  static Slice encode(const std::string& word, const std::vector<BlobId>& ids) {
    Encoder encoder;
    encoder.sized(word).u8(static_cast<std::uint8_t>(ids.size()));
    for (const BlobId& id : ids) {
      std::array<std::byte, blob::kBlobIdBytes> bytes;
      id.encode(bytes.data());
      encoder.raw(bytes);
    }
    return encoder.slice();
  }
  Result<void> replay(const Slice& body) override {
    Decoder decoder(body);
    while (decoder.remaining() > 0) {
      // A snapshot's record of blobs has no word.
      const std::string word(as_text(decoder.sized()));
      if (!word.empty()) words.push_back(word);
      const std::uint8_t count = decoder.u8();
      for (int i = 0; i < count; ++i) {
        blobs.push_back(BlobId::decode(decoder.raw(blob::kBlobIdBytes).data()));
      }
      if (decoder.failed()) return fail(Errc::kCorrupt, "words");
    }
    return {};
  }
  Result<void> restore(const std::vector<Slice>& pages) override {
    for (const Slice& page : pages) {
      auto replayed = replay(page);
      if (!replayed) return replayed;
    }
    return {};
  }
  std::vector<Slice> snapshot() const override {
    std::vector<Slice> pages;
    for (const std::string& word : words) pages.push_back(encode(word, {}));
    Encoder all;
    for (const Slice& page : pages) all.raw(page);
    if (!blobs.empty()) all.raw(encode("", blobs));
    if (all.size() == 0) return {encode("", {})};
    return {all.slice()};
  }
  std::vector<BlobId> live_blobs() const override { return blobs; }
};

// One incarnation of the words tablet.
struct WordsTablet {
  WordsState state;
  std::unique_ptr<Leader> leader;

  static TabletInfo info() { return TabletInfo::simple(TabletId{42}, kTestGroup, 3); }

  static Task<Result<std::unique_ptr<WordsTablet>>> boot(World world, BlobGroups& groups,
                                                         LeaderOptions options = {},
                                                         TabletInfo where = info()) {
    auto tablet = std::make_unique<WordsTablet>();
    CO_TRY(tablet->leader, co_await Leader::boot(world, groups, where, tablet->state, options));
    co_return std::move(tablet);
  }
  Task<Result<void>> say(std::string word, std::size_t blob_bytes = 0) {
    CommitRequest request;
    if (blob_bytes > 0) {
      DataBlob data;
      data.data = Buffer::zeroed(blob_bytes).freeze();
      request.blobs.push_back(std::move(data));
    }
    request.body = [word](const std::vector<BlobId>& ids) { return WordsState::encode(word, ids); };
    Leader::Confirmed confirmed = [this, word](const std::vector<BlobId>& ids) {
      state.words.push_back(word);
      state.blobs.insert(state.blobs.end(), ids.begin(), ids.end());
    };
    co_return co_await leader->commit(std::move(request), std::move(confirmed));
  }
};

}  // namespace moraine

// Incarnation: one leader of the scenario's tablet on one node: boots, commits words for a while,
// ends.
//
// Promise    view() is what it has confirmed, in order; acknowledged() what its clients got OK for.
// Threading  The node that it was made for. Kept until the world is shut down.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/cluster.h"
#include "tablet/leader.h"

namespace moraine::sim {

// A list of words, some of them with a blob; blobs are dropped again.
class WordList final : public TabletState {
 public:
  std::vector<std::string> words;
  std::vector<BlobId> blobs;
  bool restored = false;  // From a snapshot.

  static Slice encode_word(const std::string& word, const std::vector<BlobId>& ids);
  static Slice encode_drop(const BlobId& id);
  void drop(const BlobId& id);

  Result<void> replay(const Slice& body) override;
  Result<void> restore(const std::vector<Slice>& pages) override;
  std::vector<Slice> snapshot() const override;
  std::vector<BlobId> live_blobs() const override { return blobs; }
};

class Incarnation final : public BlobGroups {
 public:
  // Runs for `life`, or until another replaces it.
  Incarnation(Cluster& cluster, std::size_t client, std::string name, Duration life);

  // Begins now. Called once; registers what a crash of the node needs.
  static void start(const std::shared_ptr<Incarnation>& self);

  blob::Proxy* group(blob::GroupId id) override;

  static TabletInfo info() { return TabletInfo::simple(TabletId{42}, Cluster::kGroup, 3); }

  bool over() const { return over_; }
  bool booted() const { return booted_; }
  blob::Generation generation() const { return generation_; }
  const std::vector<std::string>& found() const { return found_; }
  const std::vector<std::string>& acknowledged() const { return acknowledged_; }
  const WordList& view() const { return state_; }
  const std::string& name() const { return name_; }
  const std::string& refusal() const { return refusal_; }

 private:
  static Task<void> live(std::shared_ptr<Incarnation> self);
  Task<void> write_words(int writer);
  Task<Result<void>> say(std::string word, std::size_t blob_bytes);
  Task<Result<void>> drop_one();
  bool keep_running() const;

  Cluster& cluster_;
  const std::size_t host_;
  const World world_;
  const std::string name_;
  const Instant until_;
  LeaderOptions options_;
  SeededRandom random_;
  WordList state_;
  std::unique_ptr<Leader> leader_;
  bool booted_ = false;
  bool over_ = false;
  blob::Generation generation_ = 0;
  std::string refusal_;
  std::vector<std::string> found_;
  std::vector<std::string> acknowledged_;
};

}  // namespace moraine::sim

#include "queue/layout.h"

#include <algorithm>

#include "base/invariant.h"

namespace moraine::queue {
namespace {

// Splits entries into runs of at most `room` bytes, the first one of at most `first_room`.
std::vector<std::vector<StoredEntry>> pack(std::vector<StoredEntry> entries, std::size_t first_room,
                                           std::size_t room) {
  std::vector<std::vector<StoredEntry>> runs;
  std::size_t bytes = 0;
  std::size_t limit = first_room;
  for (StoredEntry& entry : entries) {
    const std::size_t cost = piece_cost(entry);
    const bool fits =
        !runs.empty() && bytes + cost <= limit && runs.back().size() < kPieceEntriesMax;
    if (!fits) {
      if (!runs.empty()) limit = room;
      runs.emplace_back();
      bytes = kPieceHeaderBytes;
    }
    bytes += cost;
    runs.back().push_back(std::move(entry));
  }
  return runs;
}

// Gathers pieces into one stored blob and the commands that create it.
class BlobMaker {
 public:
  BlobMaker(Layout& layout, PartitionIndex partition, std::uint64_t now_ms)
      : layout_(layout), partition_(partition), now_ms_(now_ms) {}

  bool empty() const { return blob_.pieces.empty(); }
  std::uint64_t bytes() const { return blob_.bytes; }
  bool only_fresh() const { return inputs_.empty(); }

  // Adds a head blob unchanged.
  void keep(const StoredBlob& head) {
    for (const PieceRef& piece : head.pieces) {
      append({piece.offset, piece.messages, blob_.bytes, piece.bytes});
    }
    extend(head.name);
    inputs_.push_back(head.key());
  }
  void add(const std::vector<StoredEntry>& entries) {
    EncodedPiece piece = encode_piece(entries);
    const PieceHeader& header = piece.header;
    append({header.first_offset, header.messages, blob_.bytes, piece.bytes.size()});
    extend({partition_, header.first_offset, header.messages, header.max_timestamp_ms, false});
    fresh_.push_back(piece.bytes);
    layout_.fresh.push_back(std::move(piece));
  }
  void finish_body() { finish(false, 0); }
  void finish_head(std::uint8_t level) { finish(true, level); }

 private:
  void append(PieceRef piece) {
    blob_.pieces.push_back(piece);
    blob_.bytes += piece.bytes;
  }
  void extend(const DataKeyName& name) {
    if (blob_.name.count == 0) blob_.name.offset = name.offset;
    blob_.name.count += name.count;
    blob_.name.max_timestamp_ms = std::max(blob_.name.max_timestamp_ms, name.max_timestamp_ms);
  }
  void finish(bool head, std::uint8_t level) {
    blob_.name.partition = partition_;
    blob_.name.head = head;
    blob_.name.max_timestamp_ms = std::max<std::int64_t>(blob_.name.max_timestamp_ms, 0);
    blob_.written_ms = now_ms_;
    blob_.level = level;
    const std::string key = blob_.key();
    if (inputs_.empty() && fresh_.size() == 1) {
      layout_.commands.emplace_back(WriteKey{key, fresh_.front(), !head});
    } else {
      for (const ByteChain& bytes : fresh_) {
        const std::string name =
            key_prefix('x', partition_) + "new_" + std::to_string(layout_.commands.size());
        layout_.commands.emplace_back(WriteKey{name, bytes, true});
        inputs_.push_back(name);
      }
      layout_.commands.emplace_back(ConcatKeys{inputs_, key});
    }
    layout_.added.push_back(std::move(blob_));
    blob_ = {};
    inputs_.clear();
    fresh_.clear();
  }

  Layout& layout_;
  const PartitionIndex partition_;
  const std::uint64_t now_ms_;
  StoredBlob blob_;
  std::vector<std::string> inputs_;
  std::vector<ByteChain> fresh_;
};

std::uint8_t level_for(std::uint64_t bytes) {
  std::uint8_t level = kHeadLevels - 1;
  while (level > 0 && bytes >= kLevelBorders[level]) --level;
  return level;
}

// Kept head blobs and the new pieces become body blobs; a short remainder of new entries stays in
// the head.
void lay_out_body(LayoutRequest& request, Layout& layout) {
  BlobMaker maker(layout, request.partition, request.now_ms);
  for (std::size_t i = 0; i < request.plan.rewritten_from; ++i) maker.keep(request.head[i]);
  const std::size_t kept = maker.bytes();
  const std::size_t room = kept + kKeptBytes < kPieceBytesMax ? kPieceBytesMax - kept : kKeptBytes;
  layout.compacted = !request.head.empty();
  for (const auto& run : pack(std::move(request.entries), room, kPieceBytesMax)) {
    // A payload longer than a blob of the tablet is a piece of its own.
    if (!maker.empty() && piece_cost(run.front()) > kPieceBytesMax) maker.finish_body();
    maker.add(run);
    if (maker.bytes() >= request.low_watermark) maker.finish_body();
  }
  if (maker.empty()) return;
  if (maker.only_fresh() && !layout.added.empty()) {
    maker.finish_head(level_for(maker.bytes()));
  } else {
    maker.finish_body();
  }
}

}  // namespace

Layout lay_out(LayoutRequest request) {
  Layout layout;
  const HeadPlan plan = request.plan;
  std::vector<StoredBlob> rewritten(
      request.head.begin() + static_cast<std::ptrdiff_t>(plan.rewritten_from), request.head.end());
  for (const StoredBlob& blob : rewritten) layout.rewritten_bytes += blob.bytes;
  layout.replaced = plan.to_body ? request.head.size() : rewritten.size();
  // Before the new blobs: one of them may reuse the key of a deleted one.
  for (const StoredBlob& blob : rewritten) layout.commands.emplace_back(delete_key(blob.key()));
  if (plan.to_body) {
    lay_out_body(request, layout);
  } else {
    INVARIANT(!request.entries.empty(), "nothing to lay out");
    BlobMaker maker(layout, request.partition, request.now_ms);
    maker.add(request.entries);
    maker.finish_head(plan.level);
  }
  return layout;
}

}  // namespace moraine::queue

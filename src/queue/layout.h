// The blobs of a partition, and how a write changes them. Pure.
//
// Invariants Blobs tile the offsets from the first one's to the end: body blobs, then head blobs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "keyvalue/commands.h"
#include "queue/head_plan.h"
#include "queue/keys.h"
#include "queue/piece.h"

namespace moraine::queue {

// Of one blob of the tablet, unless one payload is longer.
inline constexpr std::size_t kPieceBytesMax = 8'000'000;

// A piece inside a stored blob. `messages` is 0 until its header was read.
struct PieceRef {
  Offset offset = 0;
  std::uint32_t messages = 0;
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
};

struct StoredBlob {
  DataKeyName name;
  std::uint64_t bytes = 0;
  std::uint64_t written_ms = 0;  // Of its newest message, or later.
  std::uint8_t level = 0;        // Of a head blob.
  std::vector<PieceRef> pieces;

  Offset end() const { return name.offset + name.count; }
  std::string key() const { return data_key(name); }
};

// How a write changes the end of the list of blobs.
struct Layout {
  std::size_t replaced = 0;  // The number of blobs at the end that `added` replaces.
  std::vector<StoredBlob> added;
  std::vector<EncodedPiece> fresh;  // The new pieces.
  std::vector<Command> commands;
  std::uint64_t rewritten_bytes = 0;
  bool compacted = false;
};

struct LayoutRequest {
  PartitionIndex partition = 0;
  std::vector<StoredBlob> head;
  std::vector<StoredEntry> entries;  // Those of the rewritten head blobs, then the new ones.
  HeadPlan plan;
  std::uint64_t low_watermark = 0;
  std::uint64_t now_ms = 0;
};

// Carries `plan` out. Requires: entries, or a plan to_body with a head.
Layout lay_out(LayoutRequest request);

}  // namespace moraine::queue

// The fixed places of a device: superblock and roots; and the manifest that a root points to.
//
//   device     = superblock superblock root root root root pad segment*
//   superblock = sector: magic "MRND" version u16 = 2 reserved u16, device u64, size u64,
//                segment_bytes u32, segments u32, crc u32 (of all before it)
//   root       = sector: magic "MRNR" version u16 = 2 reserved u16, device u64, sequence u64,
//                clean u8, last_sequence u64, last_epoch u64, run u32,
//                tail_segment u32, tail_sector u32,
//                manifest (segment u32 offset u32 size u32 crc u32), crc u32
//   manifest   = version u16 = 2, start_sequence u64, start_epoch u64, start_run u32,
//                count u32 of chunks: owner u8, segment u32, offset u32, size u32, crc u32
//                count u32 of segments: epoch u64, flags u8 (1 used, 2 written before, 4 holes),
//                sectors u32 (that it occupies on the disk; version 1 ends before them)
//
// Promise    A root update writes the two sectors of one pair, alternating between the pairs: a
//            torn update leaves the other pair intact, and one corrupted sector leaves its copy.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "blob/device/location.h"
#include "io/disk.h"

namespace moraine::blob {

inline constexpr std::uint64_t kSuperblockCopies = 2;
inline constexpr std::uint64_t kRootSlots = 4;
inline constexpr std::uint64_t kSegmentsOffset = 64u << 10;  // Where segment 0 starts.
inline constexpr std::uint32_t kSegmentBytesMin = 256u << 10;
inline constexpr std::uint32_t kSegmentBytesMax = 1u << 30;
inline constexpr std::uint32_t kSegmentBytesDefault = 64u << 20;
inline constexpr std::uint32_t kSegmentsMin = 12;
inline constexpr std::uint32_t kSegmentsMax = 1u << 20;

struct Superblock {
  std::uint64_t device = 0;  // Random; names this formatting of the device.
  std::uint64_t size = 0;
  std::uint32_t segment_bytes = 0;
  std::uint32_t segments = 0;

  std::uint64_t segment_offset(std::uint32_t segment) const {
    return kSegmentsOffset + std::uint64_t{segment} * segment_bytes;
  }
};

// The superblock of a device of `size` bytes; an error when the size is not possible.
Result<Superblock> plan_superblock(std::uint64_t size, std::uint32_t segment_bytes);

// True when the sector has the magic of a superblock, even if the rest of it is damaged.
bool has_superblock_magic(ByteSpan sector);
Slice encode_superblock(const Superblock& superblock);
// kCorrupt: not a moraine device, an unknown version, or a wrong checksum.
Result<Superblock> decode_superblock(ByteSpan sector);

struct Root {
  std::uint64_t device = 0;
  std::uint64_t sequence = 0;  // Number of the root update.
  bool clean = false;          // Nothing was appended after this root.
  std::uint64_t last_sequence = 0;
  std::uint64_t last_epoch = 0;
  std::uint32_t run = 0;
  // Where the next batch goes; past the last segment: none yet. Valid when clean.
  std::uint32_t tail_segment = ~0u;
  std::uint32_t tail_sector = 0;
  Location manifest;  // size 0: nothing was checkpointed yet.
};

Slice encode_root(const Root& root);
std::optional<Root> decode_root(ByteSpan sector);
// The byte offset of the first of the two sectors that root update `sequence` writes.
std::uint64_t root_pair_offset(std::uint64_t sequence);

struct Manifest {
  // Replay starts here: every batch from this sequence on, in segments of this epoch or later.
  std::uint64_t start_sequence = 1;
  std::uint64_t start_epoch = 0;
  std::uint32_t start_run = 0;
  struct Chunk {
    OwnerSlot owner = 0;
    Location location;
  };
  std::vector<Chunk> chunks;
  struct SegmentState {
    std::uint64_t epoch = 0;
    bool used = false;
    bool written = false;  // Its blocks were written before: commits there are faster.
    bool holes = false;    // Parts of it were returned to the file system.
    // Sectors that it occupies; nullopt: unknown, as in manifests of version 1.
    std::optional<std::uint32_t> sectors;
  };
  std::vector<SegmentState> segments;
};

Slice encode_manifest(const Manifest& manifest);
Result<Manifest> decode_manifest(ByteSpan bytes);

}  // namespace moraine::blob

// LogEntry: one blob of a tablet's log (channel 0, cookie 0).
//
// clang-format off
//   entry  = magic u8 = 0x4c  version u8 = 3  kind u8 (1 zero, 2 commit, 3 snapshot)
//            snapshot_generation u32  snapshot_step u32   the snapshot that replay starts from
//            previous_generation u32  previous_step u32   zero entry: the log before it ends here
//            needed_generation u32  needed_step u32       snapshot: the log is needed from here on
//            unconfirmed u8                               entries right before it that were not
//                                                         confirmed when it was written
//            count u32, each: id (25)                     blobs that must exist for it to count
//            packing u8 (0 none, 1 lz4)                   of the bodies
//            none: bodies;  lz4: size u32 of bodies, packed (size u32, bytes)
//            crc32c u32                                   of all before it
//   bodies = count u32, each: size u32, bytes             bodies of the commits in it
// Version 2 has no unconfirmed: it is 0. Version 1 has no needed_* and no packing either: its
// bodies follow the ids, not packed.
// clang-format on
//
// Promise    Entry s of a generation is written when every entry before s - unconfirmed is
//            confirmed. So the newest entry of a generation records which entries are known to
//            be confirmed, and at most kEntriesInFlightMax are not.
// Limits     kEntryBytesMax, packed or not: no more is allocated for an entry.
// Tests      log_entry_test.cpp, log_entry_fuzz.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "base/byte_chain.h"
#include "base/bytes.h"
#include "base/result.h"
#include "tablet/tablet_info.h"

namespace moraine {

inline constexpr std::size_t kEntryReferencesMax = 4096;
inline constexpr std::size_t kEntryBytesMax = blob::kBlobSizeMax;
inline constexpr std::size_t kEntriesInFlightMax = 16;
// Bodies of fewer bytes are not packed: it would save less than a sector or two.
inline constexpr std::size_t kPackedBodiesMin = 16u << 10;

enum class EntryKind : std::uint8_t { kZero = 1, kCommit = 2, kSnapshot = 3 };

struct LogEntry {
  EntryKind kind = EntryKind::kCommit;
  GenStep snapshot;  // (0, 0): there is none yet; replay starts at the beginning.
  GenStep previous;  // In a zero entry: the last accepted entry; (0, 0) when the log was empty.
  GenStep needed;    // In a snapshot: entries from here on complete it; (0, 0): none before it.
  std::uint8_t unconfirmed = 0;  // Entries right before it that may not be durable.
  std::vector<BlobId> references;
  std::vector<ByteChain> bodies;
};

// Size with unpacked bodies; an entry of more than kEntryBytesMax must not be written.
std::size_t unpacked_bytes(const LogEntry& entry);
// With its checksum. Refers to the memory of the bodies, unless the entry is long.
ByteChain encode(const LogEntry& entry);
Result<LogEntry> decode_log_entry(const Slice& bytes);

}  // namespace moraine

// LogEntry: one blob of a tablet's log (channel 0, cookie 0).
//
// clang-format off
//   entry = magic u8 = 0x4c  version u8 = 1  kind u8 (1 zero, 2 commit, 3 snapshot)
//           snapshot_generation u32  snapshot_step u32   the snapshot that replay starts from
//           previous_generation u32  previous_step u32   zero entry: the log before it ends here
//           count u32, each: id (24)                     blobs that must be there for it to count
//           count u32, each: size u32, bytes             bodies of the commits in it
//           crc32c u32                                   of all before it
// clang-format on
//
// Promise    Entry s of a generation is written only when entry s - 1 is confirmed, so every entry
//            but the newest of a generation is known to be confirmed.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "tablet/tablet_info.h"

namespace moraine {

inline constexpr std::size_t kEntryReferencesMax = 4096;
inline constexpr std::size_t kEntryBytesMax = blob::kBlobSizeMax;

enum class EntryKind : std::uint8_t { kZero = 1, kCommit = 2, kSnapshot = 3 };

struct LogEntry {
  EntryKind kind = EntryKind::kCommit;
  GenStep snapshot;  // (0, 0): there is none yet; replay starts at the beginning.
  GenStep previous;  // Of a zero entry: the last accepted entry; (0, 0) when the log was empty.
  std::vector<BlobId> references;
  std::vector<Slice> bodies;
};

Slice encode(const LogEntry& entry);
Result<LogEntry> decode_log_entry(const Slice& bytes);

}  // namespace moraine

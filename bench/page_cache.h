// The page cache of this machine: waiting until its dirty pages are on disk, and filling it.
//
// A broker that acknowledges from memory leaves gigabytes of dirty pages. While the kernel writes
// them back, the durable writes of another program wait behind them. So they do while the file
// system discards the blocks of removed files, which goes on after the files are gone.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "base/result.h"

namespace moraine::bench {

inline constexpr double kQuietSecondsMax = 30;

// Writes the dirty pages of all programs to disk and waits until hardly any are left and nothing
// is being discarded. False: the disk was still busy after kQuietSecondsMax.
bool wait_for_quiet_disk();

// PageCacheWriter: a thread that overwrites a file through the page cache for as long as this
// object lives, as fast as the disk accepts the pages, without a sync.
//
// Limits     kFileBytes on disk; the destructor removes the file.
class PageCacheWriter {
 public:
  static constexpr std::uint64_t kFileBytes = std::uint64_t{1} << 30;

  static Result<std::unique_ptr<PageCacheWriter>> start(const std::string& path);
  PageCacheWriter(const PageCacheWriter&) = delete;
  PageCacheWriter& operator=(const PageCacheWriter&) = delete;
  ~PageCacheWriter();

 private:
  PageCacheWriter(int file, std::string path);
  void write() const;

  const int file_;
  const std::string path_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace moraine::bench

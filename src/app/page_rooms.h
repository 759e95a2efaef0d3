// PageRooms: the memory to take for an HTTP page before it is made, from the length that it had
// when it was made last.
//
// Promise    A page that was not made yet gets as much as the longest are expected to need. Short
//            pages take none, so that a node whose memory for answers is taken says that it lives.
// Threading  Any lane.
// Limits     kFirstPageBytes, kPageGrowth.
// Tests      page_rooms_test.cpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <string_view>

namespace moraine::app {

// About the metrics of kReportedPartitionsMax partitions (node/topic_metrics.h).
inline constexpr std::size_t kFirstPageBytes = std::size_t{16} << 20;
inline constexpr std::size_t kPageGrowth = std::size_t{64} << 10;  // Since it was made last.

class PageRooms {
 public:
  std::size_t of(std::string_view path) const {
    const Page* page = find(path);
    if (page == nullptr) return 0;
    // Twice: as text, and as the body that is made of it.
    return 2 * page->bytes.load(std::memory_order_relaxed) + kPageGrowth;
  }
  // It was made, with so many bytes.
  void note(std::string_view path, std::size_t bytes) {
    if (const Page* page = find(path)) page->bytes.store(bytes, std::memory_order_relaxed);
  }

 private:
  struct Page {
    std::string_view path;
    mutable std::atomic<std::size_t> bytes{kFirstPageBytes};
  };
  const Page* find(std::string_view path) const {
    for (const Page& page : pages_) {
      if (page.path == path) return &page;
    }
    return nullptr;
  }

  // The pages whose length depends on what the node has.
  Page pages_[3] = {{"/metrics"}, {"/status"}, {"/cluster.yaml"}};
};

}  // namespace moraine::app

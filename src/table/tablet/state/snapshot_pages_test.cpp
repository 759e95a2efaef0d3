#include "table/tablet/state/snapshot_pages.h"

#include <gtest/gtest.h>

#include "io/random.h"

namespace moraine::table {
namespace {

std::vector<Slice> pages_of(const std::vector<std::string>& items, std::size_t page_bytes) {
  PageWriter writer(page_bytes);
  for (const std::string& item : items) writer.add(as_bytes(item));
  return std::move(writer).finish();
}

Result<std::vector<std::string>> items_of(const std::vector<Slice>& pages) {
  TRY(PageReader reader, PageReader::open(pages));
  std::vector<std::string> items;
  while (!reader.at_end()) {
    TRY(const ByteSpan item, reader.next());
    items.emplace_back(as_text(item));
  }
  return items;
}

TEST(SnapshotPages, ItemsOfAnySizeAreReadFromPagesOfAnySize) {
  SeededRandom random(5);
  for (int round = 0; round < 200; ++round) {
    const std::size_t page_bytes = 10 + random.below(100);
    std::vector<std::string> items(random.below(20));
    for (std::string& item : items)
      item.assign(random.below(200), static_cast<char>(random.next()));
    const std::vector<Slice> pages = pages_of(items, page_bytes);
    for (const Slice& page : pages) ASSERT_LE(page.size(), page_bytes);
    const auto found = items_of(pages);
    ASSERT_TRUE(found) << found.error().message();
    ASSERT_EQ(*found, items);
  }
}

TEST(SnapshotPages, DamageAndWrongOrderAreRefused) {
  std::vector<Slice> pages = pages_of({std::string(100, 'a'), std::string(100, 'b')}, 60);
  ASSERT_GT(pages.size(), 3u);
  std::swap(pages[1], pages[2]);
  EXPECT_FALSE(items_of(pages));
  std::swap(pages[1], pages[2]);
  std::string bytes(pages[1].text());
  bytes[20] ^= 1;
  pages[1] = Slice::copy_of(bytes);
  EXPECT_FALSE(items_of(pages));
}

TEST(SnapshotPages, AnItemThatIsCutShortIsRefused) {
  std::vector<Slice> pages = pages_of({std::string(100, 'a'), std::string(100, 'b')}, 60);
  pages.pop_back();
  EXPECT_FALSE(items_of(pages));
}

}  // namespace
}  // namespace moraine::table

#include "app/table.h"

#include <gtest/gtest.h>

namespace moraine::app {
namespace {

TEST(Table, AlignsColumnsAndNumbers) {
  Table table({"NAME", "SIZE"});
  table.add({"a", "5"});
  table.add({"longer", "12345"});
  EXPECT_EQ(table.text(), "NAME    SIZE\na           5\nlonger  12345\n");
}

TEST(ReadableSize, HasThreeDigits) {
  EXPECT_EQ(readable_size(0), "0 B");
  EXPECT_EQ(readable_size(1023), "1023 B");
  EXPECT_EQ(readable_size(1536), "1.50 KiB");
  EXPECT_EQ(readable_size(10u << 20), "10.0 MiB");
  EXPECT_EQ(readable_size(std::uint64_t{200} << 30), "200 GiB");
}

TEST(Counted, KnowsOne) {
  EXPECT_EQ(counted(0, "blob"), "0 blobs");
  EXPECT_EQ(counted(1, "blob"), "1 blob");
}

}  // namespace
}  // namespace moraine::app

#include "app/page_rooms.h"

#include <gtest/gtest.h>

namespace moraine::app {
namespace {

TEST(PageRooms, APageTakesAboutTwiceWhatItHadWhenItWasMadeLast) {
  PageRooms rooms;
  EXPECT_EQ(rooms.of("/metrics"), 2 * kFirstPageBytes + kPageGrowth);
  rooms.note("/metrics", 5'000'000);
  EXPECT_EQ(rooms.of("/metrics"), 10'000'000 + kPageGrowth);
  rooms.note("/metrics", 1'000);
  EXPECT_EQ(rooms.of("/metrics"), 2'000 + kPageGrowth);
  EXPECT_EQ(rooms.of("/status"), 2 * kFirstPageBytes + kPageGrowth);
}

TEST(PageRooms, ShortPagesTakeNoneAndAreNotRemembered) {
  PageRooms rooms;
  for (const char* path : {"/ping", "/ready", "/no/such/page"}) {
    EXPECT_EQ(rooms.of(path), 0u);
    rooms.note(path, 5'000'000);
    EXPECT_EQ(rooms.of(path), 0u);
  }
}

}  // namespace
}  // namespace moraine::app

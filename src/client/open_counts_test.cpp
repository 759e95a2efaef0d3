#include "client/open_counts.h"

#include <gtest/gtest.h>

#include <vector>

namespace moraine::client {
namespace {

TEST(OpenCount, RefusesPastItsBoundAndSaysWhatToDo) {
  OpenCount count(2, "things", "close some of them");
  std::vector<OpenCount::Place> places;
  for (int i = 0; i < 2; ++i) {
    auto place = count.enter();
    ASSERT_TRUE(place);
    places.push_back(std::move(*place));
  }
  const auto refused = count.enter();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kOverloaded);
  EXPECT_EQ(refused.error().context,
            "2 things are open on this node, its limit; close some of them, or retry later");
  EXPECT_EQ(count.open(), 2u);
  places.pop_back();
  EXPECT_EQ(count.open(), 1u);
  EXPECT_TRUE(count.enter());
}

TEST(OpenCount, APlaceIsReleasedOnceWhereverItIsMoved) {
  OpenCount count(3, "things", "close some of them");
  OpenCount::Place first = std::move(*count.enter());
  OpenCount::Place second = std::move(first);
  EXPECT_EQ(count.open(), 1u);
  second.release();
  second.release();
  EXPECT_EQ(count.open(), 0u);
  first = std::move(*count.enter());
  first = std::move(*count.enter());  // The former place is released.
  EXPECT_EQ(count.open(), 1u);
  first = OpenCount::Place();
  EXPECT_EQ(count.open(), 0u);
}

}  // namespace
}  // namespace moraine::client

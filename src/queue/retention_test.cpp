#include "queue/retention.h"

#include <gtest/gtest.h>

namespace moraine::queue {
namespace {

constexpr BlobAge kBlob{10, 100, 1'000};  // Ends at 10, 100 bytes, written at 1 s.

RetentionView view_at(std::uint64_t now_ms, std::uint64_t total_bytes = 1'000) {
  RetentionView view;
  view.now_ms = now_ms;
  view.total_bytes = total_bytes;
  return view;
}

TEST(Retention, NothingGoesWithoutARule) {
  EXPECT_FALSE(removable(kBlob, view_at(1'000'000'000), {}));
}

TEST(Retention, ByTimeABlobGoesWhenItIsOldEnough) {
  PartitionConfig config;
  config.retention_ms = 500;
  EXPECT_FALSE(removable(kBlob, view_at(1'499), config));
  EXPECT_TRUE(removable(kBlob, view_at(1'500), config));
  EXPECT_FALSE(removable(kBlob, view_at(10), config)) << "the clock went back";
}

TEST(Retention, BySizeABlobGoesWhileEnoughRemainsWithoutIt) {
  PartitionConfig config;
  config.retention_bytes = 300;
  EXPECT_TRUE(removable(kBlob, view_at(0, 400), config));
  EXPECT_FALSE(removable(kBlob, view_at(0, 399), config));
}

TEST(Retention, WhatAnImportantConsumerHasNotReadStays) {
  PartitionConfig config;
  config.retention_ms = 0;
  config.retention_bytes = 0;
  RetentionView view = view_at(1'000'000);
  view.unread_from = 9;
  EXPECT_FALSE(removable(kBlob, view, config));
  view.unread_from = 10;
  EXPECT_TRUE(removable(kBlob, view, config));
}

TEST(Retention, WhatReadersCannotReachGoesWhoeverIsImportant) {
  RetentionView view = view_at(0);
  view.start = 10;
  view.unread_from = 0;
  EXPECT_TRUE(removable(kBlob, view, {}));
  view.start = 9;
  EXPECT_FALSE(removable(kBlob, view, {}));
}

}  // namespace
}  // namespace moraine::queue

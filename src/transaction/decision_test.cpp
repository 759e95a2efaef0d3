#include "transaction/decision.h"

#include <gtest/gtest.h>

#include "tablet/leader.h"

namespace moraine {
namespace {

Decision sample(std::uint8_t number, std::size_t participants) {
  Decision decision;
  decision.id.bytes.fill(number);
  decision.commit = 1000 + number;
  for (std::size_t i = 0; i < participants; ++i) decision.participants.push_back(TabletId{i + 1});
  return decision;
}

TEST(DecisionTest, ReadsBackWhatWasWritten) {
  Decision decision = sample(3, 5);
  EXPECT_EQ(decode_decision(encode_decision(decision)).value(), decision);
  decision.acknowledged = true;
  EXPECT_EQ(decode_decision(encode_decision(decision)).value(), decision);
}

TEST(DecisionTest, EveryChangedByteIsNoticed) {
  const Slice bytes = encode_decision(sample(1, 2));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged(bytes.text());
    damaged[i] ^= 0x40;
    EXPECT_FALSE(decode_decision(as_bytes(damaged))) << i;
  }
}

TEST(DecisionTest, PagesHoldAllAndStayWithinTheirBound) {
  Decisions all;
  all.forgotten = 77;
  for (int i = 0; i < 5000; ++i) all.known.push_back(sample(static_cast<std::uint8_t>(i), 300));
  std::vector<Decision> found;
  for (const Slice& page : encode_decisions(all)) {
    EXPECT_LE(page.size(), kSnapshotPageMax);
    const Decisions part = decode_decisions(page).value();
    EXPECT_EQ(part.forgotten, 77u);
    found.insert(found.end(), part.known.begin(), part.known.end());
  }
  EXPECT_EQ(found, all.known);
}

TEST(DecisionTest, NoDecisionsAreAPageToo) {
  const std::vector<Slice> pages = encode_decisions({});
  ASSERT_EQ(pages.size(), 1u);
  EXPECT_TRUE(decode_decisions(pages[0]).value().known.empty());
}

}  // namespace
}  // namespace moraine

#include "scheme/path_node.h"

#include <gtest/gtest.h>

#include "base/coding.h"
#include "base/sealed.h"

namespace moraine {
namespace {

PathNode some_node() {
  SeededRandom random(3);
  PathNode node;
  node.kind = NodeKind::kTopic;
  node.path = "team/orders";
  node.id = new_path_id(random);
  node.created_ms = 12'345;
  node.attributes = Slice::copy_of("whatever the kind wants");
  return node;
}

TEST(PathNode, KeepsEverything) {
  const PathNode node = some_node();
  const auto decoded = decode_node(encode_node(node));
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->kind, node.kind);
  EXPECT_EQ(decoded->path, node.path);
  EXPECT_EQ(decoded->id, node.id);
  EXPECT_EQ(decoded->created_ms, node.created_ms);
  EXPECT_TRUE(equal(decoded->attributes, node.attributes));
}

TEST(PathNode, AnyFlippedBitIsFound) {
  const Slice good = encode_node(some_node());
  for (std::size_t at = 0; at < good.size(); ++at) {
    Encoder bad;
    bad.raw(good);
    bad.span()[at] ^= std::byte{1};
    const auto decoded = decode_node(bad.span());
    ASSERT_FALSE(decoded) << at;
    EXPECT_EQ(decoded.error().code, Errc::kCorrupt) << at;
  }
}

TEST(PathNode, APathThatCannotBeIsCorrupt) {
  PathNode node = some_node();
  node.path = "team//orders";
  EXPECT_EQ(decode_node(encode_node(node)).error().code, Errc::kCorrupt);
}

TEST(PathNode, AnotherVersionOrKindIsUnsupported) {
  const Slice good = encode_node(some_node());
  for (const std::size_t at : {0u, 1u}) {
    Encoder other;
    other.raw(good.sub(0, good.size() - sizeof(std::uint32_t)));
    other.span()[at] = std::byte{99};
    EXPECT_EQ(decode_node(seal(std::move(other))).error().code, Errc::kUnsupported) << at;
  }
}

TEST(PathNode, IdsAreDifferentAndNeverZero) {
  SeededRandom random(9);
  const PathId first = new_path_id(random);
  EXPECT_NE(first, PathId{});
  EXPECT_NE(first, new_path_id(random));
}

}  // namespace
}  // namespace moraine

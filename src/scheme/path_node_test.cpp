#include "scheme/path_node.h"

#include <gtest/gtest.h>

#include <functional>

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
  node.record = Slice::copy_of("whatever the kind wants");
  node.attributes.emplace("owner", Slice::copy_of("\x01\x02k"));
  node.attributes.emplace("empty", Slice());
  return node;
}

// The fields before the attributes, then what `append` adds.
Slice with_attributes(const std::function<void(Encoder&)>& append) {
  PathNode node = some_node();
  node.attributes.clear();
  const Slice bytes = encode_node(node);
  Encoder encoder;
  encoder.raw(bytes.sub(0, bytes.size() - 2 * sizeof(std::uint32_t)));
  append(encoder);
  return seal(std::move(encoder));
}

TEST(PathNode, KeepsEverything) {
  const PathNode node = some_node();
  const auto decoded = decode_node(encode_node(node));
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->kind, node.kind);
  EXPECT_EQ(decoded->path, node.path);
  EXPECT_EQ(decoded->id, node.id);
  EXPECT_EQ(decoded->created_ms, node.created_ms);
  EXPECT_TRUE(equal(decoded->record, node.record));
  ASSERT_EQ(decoded->attributes.size(), 2u);
  EXPECT_EQ(decoded->attributes.at("owner").text(), "\x01\x02k");
  EXPECT_EQ(decoded->attributes.at("empty").text(), "");
}

// As a data folder has it: a topic "a/b", created at 5 ms.
TEST(PathNode, ReadsStoredBytesOfTheVersionWithoutAttributes) {
  const std::string stored =
      std::string("\x01\x02", 2) + "0123456789abcdef" + std::string("\x05\0\0\0\0\0\0\0", 8) +
      std::string("\x03\0\0\0a/b", 7) + std::string("\x04\0\0\0\x01xyz", 8) + "\x16\xe5\x82\x8c";
  const auto decoded = decode_node(as_bytes(stored));
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->kind, NodeKind::kTopic);
  EXPECT_EQ(decoded->path, "a/b");
  EXPECT_EQ(decoded->id[0], '0');
  EXPECT_EQ(decoded->id[15], 'f');
  EXPECT_EQ(decoded->created_ms, 5u);
  EXPECT_EQ(decoded->record.text(), "\x01xyz");
  EXPECT_TRUE(decoded->attributes.empty());
}

TEST(PathNode, AttributesThatNoNodeMayHaveAreCorrupt) {
  const auto code = [](const std::function<void(Encoder&)>& append) {
    const auto decoded = decode_node(with_attributes(append));
    return decoded ? std::string("decoded") : std::string(to_string(decoded.error().code));
  };
  EXPECT_EQ(code([](Encoder& e) { e.u32(1).sized("a").sized("1"); }), "decoded");
  const std::string corrupt(to_string(Errc::kCorrupt));
  EXPECT_EQ(code([](Encoder& e) { e.u32(2).sized("b").sized("1").sized("a").sized("2"); }),
            corrupt);
  EXPECT_EQ(code([](Encoder& e) { e.u32(2).sized("a").sized("1").sized("a").sized("2"); }),
            corrupt);
  EXPECT_EQ(code([](Encoder& e) { e.u32(1).sized("").sized("1"); }), corrupt);
  EXPECT_EQ(code([](Encoder& e) { e.u32(1).sized("a"); }), corrupt);
  EXPECT_EQ(code([](Encoder& e) { e.u32(0).u8(0); }), corrupt);
  EXPECT_EQ(code([](Encoder& e) { e.u32(0xffff'ffff); }), corrupt);
}

TEST(PathNode, AttributesHaveLimits) {
  UserAttributes attributes;
  for (std::size_t i = 0; i < kUserAttributesMax; ++i)
    attributes.emplace(std::to_string(i), Slice());
  EXPECT_TRUE(check_attributes(attributes));
  attributes.emplace("more", Slice());
  EXPECT_EQ(check_attributes(attributes).error().code, Errc::kInvalidArgument);

  const std::string longest(kAttributeNameBytesMax, 'n');
  const Slice rest = Buffer::zeroed(kUserAttributesBytesMax - kAttributeNameBytesMax).freeze();
  EXPECT_TRUE(check_attributes({{longest, rest}}));
  EXPECT_EQ(check_attributes({{longest, rest}, {"x", Slice()}}).error().code,
            Errc::kInvalidArgument);
  EXPECT_EQ(check_attributes({{longest + "n", Slice()}}).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(check_attributes({{"", Slice()}}).error().code, Errc::kInvalidArgument);
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

#include "tablet/log_entry.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/checksum.h"
#include "base/coding.h"

namespace moraine {
namespace {

LogEntry some_entry() {
  LogEntry entry;
  entry.kind = EntryKind::kSnapshot;
  entry.snapshot = {1, 2};
  entry.previous = {3, 4};
  entry.needed = {5, 6};
  entry.references = {BlobId(TabletId{1}, 2, 3, 4, 5, 6)};
  entry.bodies = {Slice::copy_of("one"), Slice::copy_of("")};
  return entry;
}

void expect_same(const LogEntry& entry, const Slice& bytes) {
  const auto decoded = decode_log_entry(bytes);
  ASSERT_TRUE(decoded) << decoded.error().message();
  EXPECT_EQ(decoded->kind, entry.kind);
  EXPECT_EQ(decoded->snapshot, entry.snapshot);
  EXPECT_EQ(decoded->previous, entry.previous);
  EXPECT_EQ(decoded->needed, entry.needed);
  EXPECT_EQ(decoded->references, entry.references);
  ASSERT_EQ(decoded->bodies.size(), entry.bodies.size());
  for (std::size_t i = 0; i < entry.bodies.size(); ++i) {
    EXPECT_TRUE(equal(decoded->bodies[i].joined(), entry.bodies[i].joined())) << i;
  }
}

// The bytes of the entry, whose checksum is right.
Slice encoded(const LogEntry& entry) {
  const ByteChain chain = encode(entry);
  EXPECT_EQ(chain.known_checksum(), chain.compute_checksum());
  return chain.joined();
}

// Words that repeat, or bytes that do not.
Slice body(std::size_t size, bool repeats) {
  Buffer bytes(size);
  std::uint64_t state = 88'172'645'463'325'252u;
  for (std::size_t i = 0; i < size; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    bytes.data()[i] = static_cast<std::byte>(repeats ? "a row of a table "[i % 17] : state >> 24);
  }
  return std::move(bytes).freeze();
}

Slice with_checksum(Encoder encoder) {
  encoder.u32(crc32c(std::as_const(encoder).span()));
  return encoder.slice();
}

TEST(LogEntry, ComesBackAsItWasAndRefusesEveryCutAndFlip) {
  const LogEntry entry = some_entry();
  const Slice bytes = encoded(entry);
  expect_same(entry, bytes);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    EXPECT_FALSE(decode_log_entry(bytes.sub(0, cut)));
  }
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Buffer copy(bytes.size());
    std::memcpy(copy.data(), bytes.data(), bytes.size());
    copy.data()[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    EXPECT_FALSE(decode_log_entry(std::move(copy).freeze()));
  }
}

TEST(LogEntry, LongBodiesArePackedWhenThatMakesThemSmaller) {
  LogEntry entry = some_entry();
  entry.bodies = {body(20'000, true), body(100, true), Slice()};
  const Slice packed = encoded(entry);
  EXPECT_LT(packed.size(), 2'000u);
  expect_same(entry, packed);

  entry.bodies = {body(20'000, false)};
  const Slice plain = encoded(entry);
  EXPECT_LE(plain.size(), unpacked_bytes(entry) + 64);
  expect_same(entry, plain);

  entry.bodies = {body(kPackedBodiesMin / 2, true)};
  EXPECT_GT(encoded(entry).size(), kPackedBodiesMin / 2);
  expect_same(entry, encoded(entry));
}

TEST(LogEntry, RefersToLongPartsOfItsBodies) {
  const Slice payload = body(1'000, true);
  ByteChain chain(Slice::copy_of("key"));
  chain.append(payload);
  chain.append(Slice::copy_of("other keys"));
  LogEntry entry = some_entry();
  entry.bodies = {Slice::copy_of("short"), chain, Slice()};
  expect_same(entry, encoded(entry));
  bool referred = false;
  encode(entry).each([&](const Slice& slice) { referred |= slice.data() == payload.data(); });
  EXPECT_TRUE(referred);
}

TEST(LogEntry, OfTheFirstVersionIsRead) {
  Encoder encoder;
  encoder.u8(0x4c).u8(1).u8(2);
  encoder.u32(1).u32(2).u32(0).u32(0);
  encoder.u32(0).u32(2).sized("one").sized("");
  LogEntry entry;
  entry.kind = EntryKind::kCommit;
  entry.snapshot = {1, 2};
  entry.bodies = {Slice::copy_of("one"), Slice()};
  expect_same(entry, with_checksum(encoder));
}

TEST(LogEntry, ThatClaimsMoreThanItsBytesCanHoldIsRefusedBeforeAnythingIsAllocated) {
  for (const std::uint32_t size : {0u, 100u, 100'000u, 0xffff'ffffu}) {
    Encoder encoder;
    encoder.u8(0x4c).u8(2).u8(2);
    for (int i = 0; i < 6; ++i) encoder.u32(0);
    encoder.u32(0).u8(1).u32(size).sized("not lz4");
    const auto decoded = decode_log_entry(with_checksum(encoder));
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, Errc::kCorrupt);
  }
}

}  // namespace
}  // namespace moraine

#include "table/model/xdelta.h"

#include <gtest/gtest.h>

#include "table/model/aggregate.h"
#include "table/model/limits.h"
#include "table/model/test_patches.h"

namespace moraine::table {
namespace {

using namespace std::string_view_literals;

std::string error_state(XdeltaError error) {
  return write_xdelta({.error = error});
}

class XdeltaMerge : public testing::Test {
 protected:
  std::string merged(std::string_view older, std::string_view newer) {
    return std::string(merge_xdelta(older, newer, memory_));
  }
  // The same with a change to the patch's header.
  template <class Change>
  static std::string changed(const std::string& bytes, Change change) {
    XdeltaState state = read_xdelta(bytes);
    change(state);
    return write_xdelta(state);
  }
  static std::string empty_patch(std::string_view text) { return patch_state(text, text, ""); }

  TextMemory memory_;
};

TEST(XdeltaState, IsEncodedAsInYtsaurus) {
  EXPECT_EQ(base_state("12345"),
            "\x04\x08\x01\x28\x05"
            "12345"sv);
  EXPECT_EQ(error_state(XdeltaError::kBaseHash), "\x02\x30\x02"sv);
  const std::string_view patch =
      "\xd6\xc3\xc4\x00\x00\x00\x0e\x08\x00\x08\x01\x00"
      "12243465\x09"sv;
  EXPECT_EQ(patch_state("12345", "12243465", patch),
            "\x12\x08\x02\x10\xc2\xbb\x9a\xcb\x0b\x18\x88\x83\xc9\x9a\x06\x20\x08\x28\x15"
            "\xd6\xc3\xc4\x00\x00\x00\x0e\x08\x00\x08\x01\x00"
            "12243465\x09"sv);
}

TEST(XdeltaState, ItsHashIsMurmur2) {
  EXPECT_EQ(xdelta_hash(""), 0U);
  EXPECT_EQ(xdelta_hash("a"), 0x92685f5eU);
  EXPECT_EQ(xdelta_hash("ab"), 0x1aa14063U);
  EXPECT_EQ(xdelta_hash("abc"), 0x13577c9bU);
  EXPECT_EQ(xdelta_hash("12345"), 0xb9669dc2U);
  EXPECT_EQ(xdelta_hash("The quick brown fox"), 0x5b361318U);
}

TEST(XdeltaState, WhatIsWrittenIsReadBack) {
  const std::string base = base_state("12345");
  EXPECT_EQ(read_xdelta(base).type, XdeltaType::kBase);
  EXPECT_EQ(read_xdelta(base).data, "12345");
  const std::string bytes = patch_state("12345", "123", "patch");
  const XdeltaState patch = read_xdelta(bytes);
  EXPECT_EQ(patch.type, XdeltaType::kPatch);
  EXPECT_EQ(patch.base_hash, xdelta_hash("12345"));
  EXPECT_EQ(patch.state_hash, xdelta_hash("123"));
  EXPECT_EQ(patch.state_size, 3U);
  EXPECT_EQ(patch.data, "patch");
  EXPECT_EQ(read_xdelta(error_state(XdeltaError::kStateHash)).error, XdeltaError::kStateHash);
}

TEST(XdeltaState, BytesThatAreNoStateAreErrors) {
  const auto error = [](std::string_view bytes) { return read_xdelta(bytes).error; };
  for (const std::string_view bytes :
       {""sv, "\x05\x08\x01\x28\x00"sv, "\x03\x08\x01\x28"sv, "\x02\x0b\x01"sv, "\x02\x00\x01"sv,
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv, "\x02\x3a\x05"sv}) {
    EXPECT_EQ(error(bytes), XdeltaError::kHeader);
  }
  EXPECT_EQ(error("\x00"sv), XdeltaError::kMissingField);
  EXPECT_EQ(error("\x02\x08\x01"sv), XdeltaError::kMissingField);
  EXPECT_EQ(error("\x0a\x08\x02\x18\x01\x20\x01\x28\x00\x28\x00"sv), XdeltaError::kMissingField);
  EXPECT_EQ(error("\x04\x08\x07\x28\x00"sv), XdeltaError::kMissingField);
  EXPECT_EQ(error("\x04\x08\x01\x28\x05"
                  "1234"sv),
            XdeltaError::kDataSize);
  // Fields that are not known, and bytes after the data, do not matter.
  EXPECT_EQ(read_xdelta("\x0e\x08\x01\x40\x01\x4a\x01z\x55\0\0\0\0\x28\x02"
                        "abc"sv)
                .data,
            "ab");
}

TEST_F(XdeltaMerge, ABaseAndAPatchMakeABase) {
  EXPECT_EQ(merged(base_state("12345"), patch_state("12345", "12243465")), base_state("12243465"));
  EXPECT_EQ(merged(base_state(""), patch_state("", "12243465")), base_state("12243465"));
  EXPECT_EQ(merged(base_state("12345"), patch_state("12345", "")), base_state(""));
}

TEST_F(XdeltaMerge, APatchOfXdelta3IsApplied) {
  const std::string_view patch =
      "\xd6\xc3\xc4\x00\x00\x01\x2c\x00\x12\x2d\x00\x06\x05\x02\x4a\x55\x4d\x50\x45\x44\x13\x14"
      "\x07\x13\x13\x00\x19"sv;
  const std::string_view from = "The quick brown fox jumps over the lazy dog.";
  const std::string_view to = "The quick brown fox JUMPED over the lazy dog.";
  EXPECT_EQ(merged(base_state(from), patch_state(from, to, patch)), base_state(to));
}

TEST_F(XdeltaMerge, AnEmptyPatchChangesNothing) {
  EXPECT_EQ(merged(base_state("12345"), empty_patch("12345")), base_state("12345"));
  EXPECT_EQ(merged(base_state(""), empty_patch("")), base_state(""));
  const std::string patch = patch_state("", "123456");
  EXPECT_EQ(merged(patch, empty_patch("123456")), patch);
  EXPECT_EQ(merged(empty_patch(""), patch), patch);
  EXPECT_EQ(merged(empty_patch(""), empty_patch("")), empty_patch(""));
  // Its size does not count between patches.
  const auto sizeless = changed(empty_patch("123456"), [](auto& s) { s.state_size = 0; });
  EXPECT_EQ(merged(patch, sizeless), patch);
}

TEST_F(XdeltaMerge, AnEmptyPatchThatChangesSomethingIsAnError) {
  EXPECT_EQ(merged(base_state("12345"), patch_state("12345", "123456", "")),
            error_state(XdeltaError::kStateSize));
  EXPECT_EQ(merged(base_state("12345"), patch_state("12345", "54321", "")),
            error_state(XdeltaError::kStateHash));
  EXPECT_EQ(merged(patch_state("", "1"), patch_state("1", "2", "")),
            error_state(XdeltaError::kMergePatches));
  EXPECT_EQ(merged(patch_state("1", "2", ""), patch_state("2", "1")),
            error_state(XdeltaError::kMergePatches));
}

TEST_F(XdeltaMerge, TwoPatchesMakeOne) {
  const std::string patch = merged(patch_state("12345", "12243465"), patch_state("12243465", "15"));
  const XdeltaState state = read_xdelta(patch);
  EXPECT_EQ(state.type, XdeltaType::kPatch);
  EXPECT_EQ(state.base_hash, xdelta_hash("12345"));
  EXPECT_EQ(state.state_hash, xdelta_hash("15"));
  EXPECT_EQ(state.state_size, 2U);
  EXPECT_EQ(merged(base_state("12345"), patch), base_state("15"));
}

TEST_F(XdeltaMerge, HashesAndSizesThatDoNotFitAreErrors) {
  const std::string base = base_state("12345");
  const std::string patch = patch_state("12345", "12243465");
  EXPECT_EQ(merged(base_state("12346"), patch), error_state(XdeltaError::kBaseHash));
  EXPECT_EQ(merged(base, changed(patch, [](auto& s) { ++s.state_hash; })),
            error_state(XdeltaError::kStateHash));
  EXPECT_EQ(merged(base, changed(patch, [](auto& s) { ++s.state_size; })),
            error_state(XdeltaError::kStateSize));
  EXPECT_EQ(merged(base, changed(patch, [](auto& s) { --s.state_size; })),
            error_state(XdeltaError::kApplyPatch));
  EXPECT_EQ(merged(base, changed(patch, [](auto& s) { s.data.remove_suffix(1); })),
            error_state(XdeltaError::kApplyPatch));
  const std::string next = patch_state("12243465", "15");
  EXPECT_EQ(merged(patch, changed(next, [](auto& s) { ++s.base_hash; })),
            error_state(XdeltaError::kMergePatches));
  EXPECT_EQ(merged(patch, changed(next, [](auto& s) { s.data = "not a patch"; })),
            error_state(XdeltaError::kMergePatches));
  EXPECT_EQ(merged(changed(patch, [](auto& s) { ++s.state_size; }), next),
            error_state(XdeltaError::kMergePatches));
}

TEST_F(XdeltaMerge, ABaseTakesThePlaceOfWhatWasThere) {
  const std::string base = base_state("12345");
  for (const std::string& older : {base_state("1"), patch_state("12345", "1"),
                                   error_state(XdeltaError::kBaseHash), std::string("garbage")}) {
    EXPECT_EQ(merged(older, base), base);
  }
}

TEST_F(XdeltaMerge, AnErrorStaysUntilABaseComes) {
  const std::string error = error_state(XdeltaError::kStateHash);
  const std::string patch = patch_state("12345", "1");
  EXPECT_EQ(merged(error, patch), error);
  EXPECT_EQ(merged(patch, error), error);
  EXPECT_EQ(merged(base_state("1"), error), error);
  EXPECT_EQ(merged(error_state(XdeltaError::kBaseHash), error), error);
  EXPECT_EQ(merged("\x7f garbage", patch), error_state(XdeltaError::kHeader));
  EXPECT_EQ(merged(base_state("1"), "\x7f garbage"), error_state(XdeltaError::kHeader));
}

TEST_F(XdeltaMerge, AValueBeyondTheLimitIsAnError) {
  PatchWriter writer;
  writer.run('x', kValueBytesMax);
  writer.finish_window('\0', 0, 0);
  const std::string to(kValueBytesMax, 'x');
  EXPECT_EQ(merged(base_state(""), patch_state("", to, writer.patch())),
            error_state(XdeltaError::kApplyPatch));
}

TEST_F(XdeltaMerge, EveryGroupingGivesTheSameValue) {
  constexpr int kRounds = 300;
  SeededRandom random(5);
  for (int round = 0; round < kRounds; ++round) {
    const std::string from = random_patch(random, "").target;
    std::vector<std::string> states = {base_state(from)};
    std::string text = from;
    for (std::uint64_t patches = 1 + random.below(6); patches > 0; --patches) {
      const RandomPatch made = random_patch(random, text);
      states.push_back(patch_state(text, made.target, made.patch));
      text = made.target;
    }
    while (states.size() > 1) {
      const auto at = states.begin() + static_cast<std::ptrdiff_t>(random.below(states.size() - 1));
      *at = merged(*at, at[1]);
      states.erase(at + 1);
    }
    ASSERT_EQ(states.front(), base_state(text)) << round;
  }
}

TEST_F(XdeltaMerge, IsTheFoldOfTheAggregate) {
  const std::string base = base_state("12345");
  const std::string patch = patch_state("12345", "1");
  EXPECT_EQ(fold(Aggregate::kXdelta, Value(base), Value(patch), memory_).text(), base_state("1"));
  EXPECT_EQ(fold(Aggregate::kXdelta, Value(), Value(patch), memory_).text(), patch);
  EXPECT_EQ(fold(Aggregate::kXdelta, Value(base), Value(), memory_).text(), base);
}

}  // namespace
}  // namespace moraine::table

// States of columns with the aggregate "xdelta", as YTsaurus keeps them.
//
// clang-format off
//   state  = header size varint  header  data
//   header = a protobuf message of varint fields, all optional:
//     1 type        0 none, 1 base, 2 patch
//     2 base_hash   of a patch: hash of what it is applied to
//     3 state_hash  of a patch: hash of what comes out
//     4 state_size  of a patch: bytes of what comes out
//     5 data_size   of a base and of a patch
//     6 error_code  XdeltaError: a state that is only this
//   data   = of a base the value; of a patch VCDIFF (vcdiff.h), or nothing: it changes nothing
//   hash   = MurmurHash2 of 32 bits with seed 0
// clang-format on
//
// Promise    merge_xdelta(older, newer) is the state after applying `newer` to `older`:
//              an error or a base replaces the older state;
//              an error stays until a base is applied;
//              a base and a patch make a base, if hashes and sizes are as the patch declares;
//              two patches make one, if the later one applies to the result of the earlier one;
//              otherwise the result is an error.
//            It never fails. With patches whose headers are correct, states may be merged in any
//            grouping that keeps their order: the value is the same, or all groupings result in an
//            error, possibly with different codes; except for the limits.
// Limits     The result has at most kValueBytesMax bytes, and the limits of vcdiff.h hold: beyond
//            them the result is an error.
// Threading  Pure.
// Tests      xdelta_test.cpp, xdelta_fuzz.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "table/model/text_memory.h"

namespace moraine::table {

enum class XdeltaType : std::uint8_t { kNone = 0, kBase = 1, kPatch = 2 };

enum class XdeltaError : std::uint8_t {
  kNone = 0,
  kHeader = 1,        // Its bytes are not a state.
  kBaseHash = 2,      // A patch for another base.
  kStateHash = 3,     // The result differs from what the patch declares.
  kMergePatches = 4,  // Patches that do not fit together, or are bad.
  kApplyPatch = 5,    // A bad patch.
  kMerge = 6,
  kMissingField = 7,
  kDataSize = 8,  // Data is shorter than the header says.
  kStateSize = 9,
  kProtobuf = 10,
};

struct XdeltaState {
  XdeltaType type = XdeltaType::kNone;
  std::optional<XdeltaError> error{};  // Set: nothing else is valid.
  std::uint32_t base_hash = 0;         // This and the next two: for a patch.
  std::uint32_t state_hash = 0;
  std::uint32_t state_size = 0;
  std::string_view data{};  // Borrowed.
};

// Bytes that are not a state give an error state.
XdeltaState read_xdelta(std::string_view bytes);
std::string write_xdelta(const XdeltaState& state);
std::uint32_t xdelta_hash(std::string_view text);

// Borrows an operand or `memory`.
std::string_view merge_xdelta(std::string_view older, std::string_view newer, TextMemory& memory);

}  // namespace moraine::table

// Limits of tables, rows and values. Keys are limited by kKeyBytesMax (key.h), lock groups by
// kLockGroupsMax (change.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace moraine::table {

inline constexpr std::size_t kNameBytesMax = 256;  // Of columns, locks and groups.
inline constexpr std::size_t kColumnsMax = 1'024;  // Also of values given for a row.
inline constexpr std::size_t kKeyColumnsMax = 128;
inline constexpr std::size_t kStaticColumnsMax = 32'768;
inline constexpr std::size_t kStaticKeyColumnsMax = 256;
inline constexpr std::size_t kValueBytesMax = std::size_t{16} << 20;
// A number weighs 8, a boolean 1, a text its length, and the row 1.
inline constexpr std::size_t kRowWeightMax = std::size_t{128} << 20;
// Few, since a patch of few bytes may make a value of any size.
inline constexpr std::size_t kXdeltaColumnsMax = 8;
static_assert(kXdeltaColumnsMax * kValueBytesMax <= kRowWeightMax);
inline constexpr std::size_t kTransactionRowsMax = 100'000;

}  // namespace moraine::table

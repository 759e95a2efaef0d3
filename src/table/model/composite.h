// Composite values: YSON that follows a LogicalType.
//
// clang-format off
//   value of   stored as                               also accepted
//   simple     the scalar                              integers of the other sign that fit
//   decimal    a string: 4, 8 or 16 bytes, big-endian, sign bit flipped
//   null, void #
//   optional   # or the item; of a nullable item: # or [item]
//   list       [item; ...]
//   struct     [member; ...] in order; nullable        {name=member; ...}, nullable members may be
//              members at the end may be missing       missing
//   tuple      [element; ...]
//   variant    [number of the alternative; value]      [its name; value]
//   dict       [[key; value]; ...]                     {key=value; ...} if keys are strings
//   tagged     the item
//   yson       any node
// clang-format on
//
// Promise    Pure. encode_composite() checks a value and returns the stored form, as binary YSON:
//            members that may be missing are there. Encoding it again changes nothing.
//            name_parts() turns it into the form with names, for people and for the clients that
//            want it: what is missing is null, and encoding that again gives the stored form.
// Limits     kValueBytesMax bytes; those of YSON readers (yson/event.h). Memory is a small multiple
//            of the value.
// Errors     kInvalidArgument: what is wrong, and in which part: `at members/2: ...`.
// Tests      composite_test.cpp, composite_fuzz.cpp.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "table/model/logical_type.h"

namespace moraine::table {

Result<std::string> encode_composite(const LogicalType& type, std::string_view yson);
// Requires: `stored` is what encode_composite() returned for this type, or for a narrower one.
Result<std::string> name_parts(const LogicalType& type, std::string_view stored);

// The bytes of a decimal: their number, and digits within the precision. NaN and infinities are
// the two largest and the smallest values that the bytes can hold.
Result<void> check_decimal(const LogicalType& decimal, std::string_view bytes);

}  // namespace moraine::table

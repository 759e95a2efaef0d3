#include "expression/farm_hash.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace moraine {
namespace {

TEST(FarmHash, FingerprintsOfEveryLengthClassAreAsPublished) {
  const std::vector<std::pair<std::size_t, std::uint64_t>> vectors = {
      {0, 11160318154034397263U},   {1, 5161771770385946686U},   {3, 4662423180930907492U},
      {4, 13909349088106176104U},   {7, 17233423938440663304U},  {8, 12627020141284786728U},
      {16, 9887023220782602712U},   {17, 16960068419638019727U}, {32, 3992320350721670009U},
      {33, 12457070707786611405U},  {64, 11083064061832698092U}, {65, 444801980686921533U},
      {128, 15838856113771212233U}, {200, 202520530910294351U}};
  for (const auto& [size, expected] : vectors) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(7 * i + size));
    EXPECT_EQ(farm_fingerprint(bytes), expected) << size;
  }
}

TEST(FarmHash, HashesOfValuesAreAsPublished) {
  const std::string xs(100, 'x');
  const std::vector<std::pair<std::vector<Value>, std::uint64_t>> vectors = {
      {{0}, 3315701238936582721U},       {{1}, 933529381690826619U},
      {{2}, 3427386618069609762U},       {{-1}, 7129902556246829656U},
      {{""}, 18213160808259878197U},     {{"a"}, 15812863501130876615U},
      {{"hello"}, 2255200014092086422U}, {{std::string_view(xs)}, 969219002367552009U},
      {{1, 2}, 3849326666456637875U},    {{1, "a"}, 16748471760162916645U}};
  for (const auto& [values, expected] : vectors) EXPECT_EQ(farm_hash(values), expected);
}

}  // namespace
}  // namespace moraine

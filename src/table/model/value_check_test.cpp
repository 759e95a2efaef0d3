#include "table/model/value_check.h"

#include <gtest/gtest.h>

#include <limits>

#include "table/model/limits.h"
#include "yson/yson.h"

namespace moraine::table {
namespace {

using namespace std::string_view_literals;
using enum ColumnType;

class ValueCheck : public testing::Test {
 protected:
  Result<Value> cell(ColumnType type, const Value& value) {
    return to_cell({.name = "x", .type = type}, value, rules_, memory_);
  }
  bool takes(ColumnType type, const Value& value) { return cell(type, value).has_value(); }
  std::string why(ColumnType type, const Value& value) {
    const auto result = cell(type, value);
    return result ? "" : result.error().context;
  }

  ValueRules rules_;
  TextMemory memory_;
};

TEST_F(ValueCheck, WrongTypesAreNamed) {
  EXPECT_EQ(why(kInt64, "5"), R"(Invalid type of column "x": expected "int64", actual "string")");
  EXPECT_EQ(why(kBoolean, 1), R"(Invalid type of column "x": expected "boolean", actual "int64")");
  EXPECT_FALSE(takes(kString, Value::any("a")));
  EXPECT_FALSE(takes(kUtf8, true));
}

TEST_F(ValueCheck, IntegersAreWithinTheirColumnsRange) {
  EXPECT_TRUE(takes(kInt8, 127));
  EXPECT_TRUE(takes(kInt8, -128));
  EXPECT_FALSE(takes(kInt8, 128));
  EXPECT_FALSE(takes(kInt16, -32'769));
  EXPECT_FALSE(takes(kInt32, 1LL << 31));
  EXPECT_TRUE(takes(kUint8, 255U));
  EXPECT_FALSE(takes(kUint8, 256U));
  EXPECT_FALSE(takes(kUint16, 65'536U));
  EXPECT_FALSE(takes(kUint32, 1ULL << 32));
  EXPECT_TRUE(takes(kUint64, ~0ULL));
  EXPECT_EQ(why(kInt8, 128), R"(Column "x": value 128 is out of range of type int8)");
}

TEST_F(ValueCheck, TimesAndFloatsAreWithinTheirRange) {
  EXPECT_TRUE(takes(kDate, 49'672U));
  EXPECT_FALSE(takes(kDate, 49'673U));
  EXPECT_FALSE(takes(kDatetime, 49'673ULL * 86'400));
  EXPECT_FALSE(takes(kTimestamp, 49'673ULL * 86'400'000'000));
  EXPECT_TRUE(takes(kInterval, -1));
  EXPECT_FALSE(takes(kInterval, 49'673LL * 86'400'000'000));
  EXPECT_FALSE(takes(kDate32, 53'375'808));
  EXPECT_TRUE(takes(kFloat, 1e38));
  EXPECT_TRUE(takes(kFloat, std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(takes(kFloat, 1e39));
}

TEST_F(ValueCheck, IntegersConvertWhenTheyFitUnlessForbidden) {
  EXPECT_EQ(cell(kInt64, std::uint64_t{5}).value(), Value(5));
  EXPECT_EQ(cell(kUint64, 5).value(), Value(std::uint64_t{5}));
  EXPECT_FALSE(takes(kUint64, -1));
  EXPECT_FALSE(takes(kInt64, 1ULL << 63));
  rules_.integral_to_integral = false;
  EXPECT_TRUE(why(kInt64, std::uint64_t{5}).starts_with("Invalid type"));
}

TEST_F(ValueCheck, IntegersBecomeDoublesWhereThatIsExact) {
  EXPECT_EQ(cell(kDouble, 3).value(), Value(3.0));
  EXPECT_EQ(cell(kDouble, -3).value(), Value(-3.0));
  EXPECT_EQ(cell(kDouble, std::uint64_t{3}).value(), Value(3.0));
  EXPECT_EQ(cell(kDouble, std::int64_t{1} << 53).value(), Value(0x1p53));
  EXPECT_EQ(cell(kDouble, std::numeric_limits<std::int64_t>::min()).value(), Value(-0x1p63));
  EXPECT_EQ(cell(kDouble, std::uint64_t{1} << 63).value(), Value(0x1p63));
  EXPECT_EQ(why(kDouble, (std::int64_t{1} << 53) + 1),
            "Column \"x\": 9007199254740993 has no exact value of type double; round it first");
  EXPECT_FALSE(takes(kDouble, std::numeric_limits<std::int64_t>::max()));
  EXPECT_FALSE(takes(kDouble, std::numeric_limits<std::uint64_t>::max()));
  rules_.integral_to_double = false;
  EXPECT_TRUE(why(kDouble, 3).starts_with("Invalid type"));
}

TEST_F(ValueCheck, OtherConversionsAreOnDemand) {
  rules_ = {.string_to_all = true, .all_to_string = true};
  EXPECT_EQ(cell(kBoolean, "false").value(), Value(false));
  EXPECT_EQ(cell(kInt64, "-7").value(), Value(-7));
  EXPECT_EQ(cell(kUint8, "7").value(), Value(std::uint64_t{7}));
  EXPECT_EQ(cell(kString, -7).value(), Value("-7"));
  EXPECT_FALSE(takes(kUint8, "256"));
  EXPECT_FALSE(takes(kInt64, "7x"));
  EXPECT_FALSE(takes(kInt64, ""));
  EXPECT_FALSE(takes(kBoolean, "yes"));
}

TEST_F(ValueCheck, TextsAreValidAndBounded) {
  EXPECT_TRUE(takes(kString, "\xff"));
  EXPECT_FALSE(takes(kUtf8, "\xff"));
  EXPECT_TRUE(takes(kUtf8, "Ада \xf0\x9f\x99\x82"));
  for (const std::string_view bad : {"\x80"sv, "\xc0\x80"sv, "\xe0\x80\x80"sv, "\xed\xa0\x80"sv,
                                     "\xf4\x90\x80\x80"sv, "\xe2\x82"sv}) {
    EXPECT_FALSE(takes(kUtf8, bad));
  }
  EXPECT_TRUE(takes(kUuid, "0123456789abcdef"));
  EXPECT_FALSE(takes(kUuid, "short"));
  const std::string longest(kValueBytesMax, 'x');
  EXPECT_TRUE(takes(kString, std::string_view(longest)));
  EXPECT_FALSE(takes(kString, std::string_view(longest + 'x')));
}

TEST_F(ValueCheck, AnyHoldsCheckedYsonAndWrappedScalars) {
  EXPECT_TRUE(takes(kAny, Value::any("{a=[1]}")));
  EXPECT_FALSE(takes(kAny, Value::any("{a=")));
  EXPECT_EQ(cell(kAny, 300).value(), Value::any("\x02\xd8\x04"sv));
  EXPECT_EQ(cell(kAny, "k").value(), Value::any("\x01\x02k"sv));
  EXPECT_TRUE(cell(kAny, Value()).value().is_null());
  rules_.null_to_entity = true;
  EXPECT_EQ(cell(kAny, Value()).value(), Value::any("#"));
  EXPECT_TRUE(cell(kInt64, Value()).value().is_null());
}

TEST_F(ValueCheck, AnyInKeysHasOneSpellingAndNoMaps) {
  const ColumnSchema key{.name = "x", .type = kAny, .key = true};
  const auto text = to_cell(key, Value::any("[ 1; a ]"), rules_, memory_);
  const auto binary = to_cell(key,
                              Value::any("[\x02\x02;\x01\x02"
                                         "a]"),
                              rules_, memory_);
  ASSERT_TRUE(text && binary);
  EXPECT_EQ(*text, *binary);
  EXPECT_FALSE(to_cell(key, Value::any("[{}]"), rules_, memory_));
}

TEST_F(ValueCheck, DictSumHoldsMapsOfNumbers) {
  const ColumnSchema dict{.name = "x", .type = kAny, .aggregate = Aggregate::kDictSum};
  EXPECT_TRUE(to_cell(dict, Value::any("{a=1}"), rules_, memory_));
  EXPECT_FALSE(to_cell(dict, Value::any("[1]"), rules_, memory_));
}

ColumnSchema typed(std::string_view yson) {
  ColumnSchema column{.name = "x"};
  set_type(column, *parse_type_text(yson));
  return column;
}

TEST_F(ValueCheck, CompositeValuesAreStoredInOneForm) {
  const ColumnSchema list = typed("{type_name=optional;item={type_name=list;item=int8}}");
  const auto cell = to_cell(list, Value::any("[1; 2u]"), rules_, memory_);
  ASSERT_TRUE(cell) << cell.error().context;
  EXPECT_EQ(cell->type(), ValueType::kAny);
  EXPECT_EQ(cell->text(), "[\x02\x02;\x02\x04;]"sv);
  EXPECT_EQ(to_cell(list, Value(), rules_, memory_).value(), Value());
  const auto wrong = to_cell(list, Value::any("[1;300]"), rules_, memory_);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().context, "Column \"x\": at 1: value 300 is out of range of type int8");
  const auto other = to_cell(list, Value::any("[a]"), rules_, memory_);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Errc::kInvalidArgument);
  EXPECT_FALSE(to_cell(list, Value(5), rules_, memory_));
  EXPECT_FALSE(to_cell(typed("{type_name=list;item=int8}"), Value(), rules_, memory_))
      << "required";
  rules_.null_to_entity = true;
  EXPECT_EQ(to_cell(list, Value(), rules_, memory_).value(), Value()) << "null stays null";
}

TEST_F(ValueCheck, DecimalsAreTextsOfTheirPrecision) {
  const ColumnSchema decimal = typed("{type_name=decimal;precision=3;scale=2}");
  EXPECT_TRUE(to_cell(decimal, Value("\x80\x00\x03\xe7"sv), rules_, memory_));
  EXPECT_FALSE(to_cell(decimal, Value("\x80\x00\x03\xe8"sv), rules_, memory_));
  EXPECT_FALSE(to_cell(decimal, Value("1.5"), rules_, memory_));
  EXPECT_FALSE(to_cell(decimal, Value(1), rules_, memory_));
}

TEST_F(ValueCheck, NullColumnsHoldNothingElse) {
  for (const std::string_view type : {"null", "void"}) {
    EXPECT_TRUE(to_cell(typed(type), Value(), rules_, memory_));
    const auto other = to_cell(typed(type), Value(1), rules_, memory_);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().context,
              fmt::format("Invalid type of column \"x\": expected \"{}\", actual \"int64\"", type));
  }
}

TEST_F(ValueCheck, TagsDoNotChangeValues) {
  const ColumnSchema tagged = typed("{type_name=tagged;tag=t;item=uint8}");
  EXPECT_EQ(to_cell(tagged, Value(200), rules_, memory_).value(), Value(200u));
  EXPECT_FALSE(to_cell(tagged, Value(256u), rules_, memory_));
}

TEST_F(ValueCheck, NullOfARequiredColumnIsRefused) {
  const auto result = to_cell({.name = "x", .required = true}, Value(), rules_, memory_);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().context, R"(Required column "x" cannot have "null" value)");
}

}  // namespace
}  // namespace moraine::table

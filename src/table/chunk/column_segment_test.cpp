#include "table/chunk/column_segment.h"

#include <gtest/gtest.h>

#include "io/random.h"
#include "table/chunk/test_rows.h"

namespace moraine::table {
namespace {

std::string padded(const std::string& bytes) {
  return bytes + std::string(kBitsPadding, '\0');
}

std::vector<std::uint64_t> random_words(Random& random) {
  std::vector<std::uint64_t> words(random.below(3'000));
  const std::uint64_t base = random.next();
  const unsigned bits = static_cast<unsigned>(random.below(65));
  const std::uint64_t step = random.one_in(2) ? 0 : random.below(1'000);
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = base + step * i + (bits == 0 ? 0 : random.next() >> (64 - bits));
  }
  return words;
}

TEST(Words, ReturnEveryNumberAloneAndTogether) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SeededRandom random(seed);
    const std::vector<std::uint64_t> words = random_words(random);
    std::string bytes;
    append_words(bytes, words, random.one_in(2));
    const std::string memory = padded(bytes);
    VarintReader in(as_bytes(memory).first(bytes.size()));
    WordsView view;
    ASSERT_TRUE(view.take(in));
    ASSERT_TRUE(in.finished());
    ASSERT_EQ(view.size(), words.size());
    std::vector<std::uint64_t> decoded(words.size());
    view.decode(decoded.data());
    ASSERT_EQ(decoded, words) << seed;
    for (std::size_t i = 0; i < words.size(); ++i) ASSERT_EQ(view.get(i), words[i]) << seed;
  }
}

TEST(Words, NumbersInEvenStepsTakeNoBits) {
  std::vector<std::uint64_t> words;
  for (std::uint64_t i = 0; i < 4'096; ++i) words.push_back(1'000 + i * 17);
  std::string bytes;
  append_words(bytes, words, false);
  EXPECT_EQ(bytes.size(), 4 + 8 * WordsView::kPartBytes);
}

// Few or many different values, with or without runs.
Value pick(OwnedRow& memory, ValueType type, Random& random, std::uint64_t different,
           const Value& before) {
  if (!random.one_in(3) && before.type() == type && different < 5) return before;
  if (different > 100) return random_value(memory, type, random);
  SeededRandom fixed(random.below(different + 1));
  if (type == ValueType::kAny) return Value::any(memory.keep(random_text(fixed, 30)));
  return random_value(memory, type, fixed);
}

TEST(ColumnSegment, ReturnsValuesNullsAndAbsences) {
  static constexpr ValueType kTypes[] = {ValueType::kInt64,  ValueType::kUint64,
                                         ValueType::kDouble, ValueType::kBoolean,
                                         ValueType::kString, ValueType::kAny};
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SeededRandom random(seed);
    const ValueType type = kTypes[seed % std::size(kTypes)];
    const std::uint64_t nulls = 1 + random.below(20);
    const std::uint64_t different = 1 + random.below(120);
    ColumnSegmentBuilder builder(type);
    OwnedRow memory;
    std::vector<Value> values;
    std::vector<bool> absent;
    const std::size_t rows = 1 + random.below(2'000);
    for (std::size_t i = 0; i < rows; ++i) {
      absent.push_back(nulls < 10 && random.one_in(nulls + 3));
      const bool null = absent.back() || (nulls < 15 && random.one_in(nulls));
      Value value = pick(memory, type, random, different, i == 0 ? Value() : values.back());
      if (value.type() != type) value = Value();
      values.push_back(null ? Value() : value);
      if (absent.back()) {
        builder.add_absent();
      } else {
        builder.add(values.back());
      }
    }
    const std::string bytes = builder.finish();
    const std::string held = padded(bytes);
    const auto view = ColumnSegmentView::open(as_bytes(held).first(bytes.size()),
                                              static_cast<std::uint32_t>(rows), type, true);
    ASSERT_TRUE(view) << view.error().message();
    ColumnVector column;
    view->decode(column);
    for (std::size_t i = 0; i < rows; ++i) {
      ASSERT_EQ(view->get(i), values[i]) << seed << " " << i;
      ASSERT_EQ(view->is_absent(i), absent[i]);
      const bool null = !column.nulls.empty() && column.nulls[i] != 0;
      ASSERT_EQ(null, values[i].is_null());
      if (null) continue;
      if (is_text_type(type)) {
        ASSERT_EQ(column.texts[i], values[i].text());
      } else {
        ASSERT_EQ(column.words[i], word_of(values[i]));
      }
    }
  }
}

TEST(ColumnSegment, FewDifferentValuesTakeLittleRoom) {
  ColumnSegmentBuilder texts(ValueType::kString);
  ColumnSegmentBuilder runs(ValueType::kInt64);
  for (int i = 0; i < 4'096; ++i) {
    texts.add(Value(i % 3 == 0 ? "a long name that comes again and again" : "another one"));
    runs.add(Value(std::int64_t{i / 512} * 1'000'000'007));
  }
  EXPECT_LT(texts.finish().size(), 4'096u / 8 * 2 + 400);
  EXPECT_LT(runs.finish().size(), 200u);
}

}  // namespace
}  // namespace moraine::table

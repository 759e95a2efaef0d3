#include "app/message_input.h"

#include <gtest/gtest.h>

#include "app/cli_test_util.h"

namespace moraine::app {
namespace {

class LineInputTest : public testing::Test {
 protected:
  LineInput input(const std::string& text) {
    write_file(folder / "input", text);
    auto opened = LineInput::open(folder / "input", [] { return false; });
    EXPECT_TRUE(opened);
    return std::move(*opened);
  }
  static std::vector<std::string> lines(LineInput lines_of) {
    std::vector<std::string> lines;
    while (true) {
      auto line = lines_of.next();
      EXPECT_TRUE(line);
      if (!line || !*line) return lines;
      lines.push_back(std::move(**line));
    }
  }
  TemporaryFolder folder;
};

using Lines = std::vector<std::string>;

TEST_F(LineInputTest, EachLineIsAMessage) {
  EXPECT_EQ(lines(input("a\nb\n")), (Lines{"a", "b"}));
  EXPECT_EQ(lines(input("a\nb")), (Lines{"a", "b"}));
  EXPECT_EQ(lines(input("\n\na\r\n")), (Lines{"", "", "a\r"}));
  EXPECT_EQ(lines(input("")), Lines());
}

TEST_F(LineInputTest, LinesMayBeLongerThanOneRead) {
  const std::string first(std::size_t{700} << 10, 'x');
  const std::string second(std::size_t{300} << 10, 'y');
  EXPECT_EQ(lines(input(first + "\n" + second + "\nz")), (Lines{first, second, "z"}));
}

TEST_F(LineInputTest, TheWholeInputIsOneMessage) {
  const std::string text = some_bytes(std::size_t{600} << 10, 1);
  EXPECT_EQ(input(text).rest().value_or("-"), text);
  EXPECT_EQ(input("").rest().value_or("-"), "");
}

TEST_F(LineInputTest, AMissingInputFileIsAnError) {
  EXPECT_FALSE(LineInput::open(folder / "nothing", [] { return false; }));
}

TEST(ToMessage, WithoutASeparatorALineIsAValue) {
  EXPECT_EQ(to_message("a:b", {}, 1).value(), (InputMessage{std::nullopt, "a:b"}));
  EXPECT_EQ(to_message("a:b", {.key = "k"}, 1).value(), (InputMessage{"k", "a:b"}));
}

TEST(ToMessage, ASeparatorPartsKeyAndValue) {
  const InputRules rules{.key_separator = "::"};
  EXPECT_EQ(to_message("k::v::w", rules, 1).value(), (InputMessage{"k", "v::w"}));
  EXPECT_EQ(to_message("::v", rules, 1).value(), (InputMessage{"", "v"}));
  EXPECT_EQ(to_message("k::", rules, 1).value(), (InputMessage{"k", ""}));
  const auto without = to_message("k:v", rules, 7);
  ASSERT_FALSE(without);
  EXPECT_TRUE(without.error().context.contains("line 7")) << without.error().context;
}

TEST(ToMessage, EmptyAndMissingKeysMayBeNoKeys) {
  const InputRules rules{.key_separator = ":", .null_key = true};
  EXPECT_EQ(to_message("k:v", rules, 1).value(), (InputMessage{"k", "v"}));
  EXPECT_EQ(to_message(":v", rules, 1).value(), (InputMessage{std::nullopt, "v"}));
  EXPECT_EQ(to_message("v", rules, 1).value(), (InputMessage{std::nullopt, "v"}));
}

}  // namespace
}  // namespace moraine::app

#include "app/yt_shell/complete.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace moraine::app {
namespace {

using Words = std::vector<std::string>;

class FakeNames final : public NameSource {
 public:
  Words children(const std::string& path) override {
    if (path == "//") return {"sys/", "tmp/"};
    return path == "//tmp" ? Words{"data/", "table", "tables"} : Words();
  }
  Words attributes(const std::string& path) override {
    return path == "//tmp/table" ? Words{"schema", "tablet_state", "tablet_count"} : Words();
  }
  Words columns(const std::string& table) override {
    return table == "//tmp/table" ? Words{"user_id", "user_name"} : Words();
  }
};

Words completed(std::string_view text, std::size_t* from = nullptr) {
  FakeNames names;
  const Completion found = complete(text, names);
  if (from != nullptr) *from = found.from;
  return found.words;
}

bool has(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

TEST(Completions, BeginWithVerbsAndQueries) {
  EXPECT_EQ(completed("mou"), Words{"mount-table "});
  EXPECT_EQ(completed("SEL"), Words{"SELECT "});
  EXPECT_EQ(completed("\n get-tablet-i"), Words{"get-tablet-infos "});
  EXPECT_TRUE(has(completed(""), "explain "));
}

TEST(Completions, OfPaths) {
  std::size_t from = 0;
  EXPECT_EQ(completed("list //t", &from), Words{"//tmp/"});
  EXPECT_EQ(from, 5u);
  EXPECT_EQ(completed("list //"), (Words{"//sys/", "//tmp/"}));
  EXPECT_EQ(completed("select * from [//tmp/ta", &from), (Words{"//tmp/table", "//tmp/tables"}));
  EXPECT_EQ(from, 15u) << "the bracket is no part of it";
  EXPECT_EQ(completed("get //tmp/table/@tablet"),
            (Words{"//tmp/table/@tablet_count", "//tmp/table/@tablet_state"}));
  EXPECT_EQ(completed("get //none/x"), Words());
}

TEST(Completions, OfOptions) {
  EXPECT_EQ(completed("mount-table //tmp/table --fi"), Words{"--first-tablet-index "});
  EXPECT_TRUE(has(completed("insert-rows --"), "--proxy "));
  EXPECT_EQ(completed("mount-table //tmp/table user"), Words()) << "no query";
}

TEST(Completions, OfColumnsKeywordsAndFunctions) {
  EXPECT_EQ(completed("select * from [//tmp/table] where user_"),
            (Words{"user_id ", "user_name "}));
  EXPECT_EQ(completed("select * from [//tmp/table] whe"), (Words{"when ", "where "}));
  EXPECT_EQ(completed("select * from [//tmp/table] GROUP"), Words{"GROUP BY "});
  EXPECT_TRUE(has(completed("explain select regex_f"), "regex_full_match("));
  EXPECT_TRUE(has(completed("select-rows 'su"), "sum("));
}

}  // namespace
}  // namespace moraine::app

#include "app/yt_verbs/row_table.h"

#include <gtest/gtest.h>

#include "app/transfer_progress.h"

namespace moraine::app {
namespace {

std::string table_of(std::string_view rows, std::size_t step = std::string::npos) {
  std::string out;
  RowTable table([&out](std::string_view text) -> Result<void> {
    out += text;
    return {};
  });
  RowReader reader(table);
  for (std::size_t at = 0; at < rows.size(); at += std::min(step, rows.size())) {
    const auto fed = reader.feed(rows.substr(at, step));
    if (!fed) return fed.error().message();
  }
  const auto read = reader.finish();
  const auto finished = table.finish();
  return read && finished ? out : "failed";
}

TEST(RowTables, AlignColumnsByTheirTypes) {
  const std::string_view rows =
      "{id=7;name=Ada;score=1.5;ok=%true};{id=1000u;name=#;score=#;ok=%false};";
  const std::string expected =
      "  id  name  score  ok\n"
      "----  ----  -----  -----\n"
      "   7  Ada     1.5  true\n"
      "1000  null  null   false\n";
  EXPECT_EQ(table_of(rows), expected);
  EXPECT_EQ(table_of(rows, 1), expected) << "in pieces";
}

TEST(RowTables, ShowTextAsItIsAndBytesEscaped) {
  EXPECT_EQ(table_of("{k=\"\xd0\xb9\xd1\x86\";v=\"a\\nb\\xff\"};{k=abc;v=[1;{x=2}]};"),
            "k    v\n"
            "---  -------------\n"
            "\xd0\xb9\xd1\x86   a\\x0ab\\xff\n"
            "abc  [1;{\"x\"=2;};]\n");
  EXPECT_EQ(cell_text(YsonNode("abcdef"), 4), "abcd…");
}

TEST(RowTables, RepeatTheHeadsForANewColumn) {
  std::string rows;
  for (std::size_t i = 0; i < kTableBatchRows; ++i) rows += "{a=1};";
  const std::string text = table_of(rows + "{a=1;b=2};");
  EXPECT_TRUE(text.starts_with("a\n-\n1\n")) << text.substr(0, 20);
  EXPECT_TRUE(text.ends_with("1\na  b\n-  -\n1  2\n")) << text.substr(text.size() - 40);
}

TEST(RowTables, MissingRowsAreNull) {
  EXPECT_EQ(table_of("{k=1;v=a};#;"), "   k  v\n----  -\n   1  a\nnull\n");
  EXPECT_EQ(table_of(""), "");
}

TEST(RowTables, DamagedRowsFail) {
  EXPECT_TRUE(table_of("{k=1;v=").contains("failed"));
  EXPECT_TRUE(table_of("{k=1}}").contains("invalid argument"));
}

TEST(Transfers, AreDescribed) {
  EXPECT_EQ(transfer_text("insert", 1536, std::nullopt, 0), "insert: 1.50 KiB");
  EXPECT_EQ(transfer_text("insert", 512, 1024, 2), "insert: 512 B of 1.00 KiB, 50 %, 256 B/s");
}

}  // namespace
}  // namespace moraine::app

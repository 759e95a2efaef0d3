// The examples of docs/queries.md, run over HTTP against a node; the page says how they are
// written.
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "gateway/yt/yt_test_util.h"
#include "query/function/functions.h"
#include "yson/format.h"
#include "yson/yson.h"

namespace moraine::yt {
namespace {

// One block of the page: ```kind argument
struct Block {
  std::string kind;
  std::string argument;
  std::size_t line = 0;  // Of its first line.
  std::vector<std::string> lines;
};

// A query or an expression with the lines of its answer.
struct Example {
  std::size_t line = 0;
  std::string text;
  std::vector<std::string> answer;
};

constexpr std::string_view kArrow = "=> ";
constexpr std::string_view kError = "error: ";

// Beside the build folder, where the program stands; else where it was built from.
std::filesystem::path page_path() {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::filesystem::path page = program.parent_path().parent_path() / "docs/queries.md";
  return std::filesystem::exists(page) ? page : std::filesystem::path(MORAINE_QUERIES_PAGE);
}

std::vector<Block> read_page() {
  std::ifstream file(page_path());
  std::vector<Block> blocks;
  bool open = false;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (!line.starts_with("```")) {
      if (open) blocks.back().lines.push_back(line);
      continue;
    }
    open = !open;
    if (!open) continue;
    const std::size_t space = std::min(line.find(' '), line.size());
    blocks.push_back({.kind = line.substr(3, space - 3),
                      .argument = line.substr(std::min(space + 1, line.size())),
                      .line = number + 1,
                      .lines = {}});
  }
  return blocks;
}

// Queries are separated by empty lines.
std::vector<Example> queries_of(const Block& block) {
  std::vector<Example> examples(1);
  for (std::size_t i = 0; i < block.lines.size(); ++i) {
    const std::string& line = block.lines[i];
    if (line.empty()) {
      examples.emplace_back();
    } else if (line.starts_with(kArrow)) {
      examples.back().answer.push_back(line.substr(kArrow.size()));
    } else {
      Example& example = examples.back();
      if (example.line == 0) example.line = block.line + i;
      example.text += (example.text.empty() ? "" : "\n") + line;
    }
  }
  return examples;
}

// One expression per line.
std::vector<Example> expressions_of(const Block& block) {
  std::vector<Example> examples;
  for (std::size_t i = 0; i < block.lines.size(); ++i) {
    const std::string& line = block.lines[i];
    const std::size_t arrow = line.rfind(kArrow);
    EXPECT_NE(arrow, line.npos) << "line " << block.line + i;
    if (arrow == line.npos) continue;
    const std::string expression = line.substr(0, line.find_last_not_of(' ', arrow - 1) + 1);
    examples.push_back({.line = block.line + i,
                        .text = "(" + expression + ") as x from [//shop/one]",
                        .answer = {line.substr(arrow + kArrow.size())}});
  }
  return examples;
}

void collect_messages(const YsonNode& error, std::string& out) {
  if (const YsonNode* message = error.find("message")) out += *message->as<std::string>() + "\n";
  const YsonNode* inner = error.find("inner_errors");
  if (inner == nullptr) return;
  for (const YsonNode& one : *inner->as<YsonList>()) collect_messages(one, out);
}

std::string messages_of(const std::string& json) {
  DataFormat format;
  format.options = JsonOptions{};
  const auto source = make_source(format, YsonDocument::kNode);
  YsonTreeBuilder builder;
  EXPECT_TRUE(convert(json, **source, builder)) << json;
  std::string out;
  collect_messages(builder.take(), out);
  return out;
}

class QueriesPage : public YtTest {
 protected:
  void make_table(const Block& block) {
    YsonMap attributes;
    attributes.set("dynamic", true);
    attributes.set("schema", *parse_yson(block.lines.at(0)));
    YsonMap create;
    create.set("path", block.argument);
    create.set("type", "table");
    create.set("recursive", true);
    create.set("attributes", attributes);
    YsonMap path;
    path.set("path", block.argument);
    std::string rows;
    for (std::size_t i = 1; i < block.lines.size(); ++i) rows += block.lines[i] + ";";
    EXPECT_EQ(ask("create", create).field("x-yt-error"), "");
    EXPECT_EQ(ask("mount_table", path).field("x-yt-error"), "");
    EXPECT_EQ(ask("insert_rows", path, rows).field("x-yt-error"), "");
  }

  Response ask(const std::string& command, const YsonMap& parameters, std::string body = {}) {
    return send("PUT", "/api/v4/" + command,
                {{"X-YT-Header-Format", "<format=text>yson"},
                 {"X-YT-Parameters", write_yson(parameters, YsonFormat::kText)},
                 {"X-YT-Input-Format", "yson"},
                 {"X-YT-Output-Format", "<format=text>yson"}},
                std::move(body));
  }
  Response ask_query(const std::string& command, const Block& block, const Example& example) {
    YsonMap parameters;
    if (!block.argument.empty()) parameters = *parse_yson(block.argument)->as<YsonMap>();
    parameters.set("query", example.text);
    return ask(command, parameters);
  }
  // Whether the answer is the error that the page names.
  static void check_error(const Example& example, const Response& response) {
    const std::string failed = response.field("x-yt-error");
    const bool expected = example.answer.size() == 1 && example.answer[0].starts_with(kError);
    if (!expected) {
      EXPECT_EQ(failed, "") << messages_of(failed.empty() ? "{}" : failed);
      return;
    }
    const std::string wanted =
        std::regex_replace(example.answer[0].substr(kError.size()), std::regex(R"(\\n)"), "\n");
    ASSERT_NE(failed, "") << response.body;
    EXPECT_NE(messages_of(failed).find(wanted), std::string::npos) << messages_of(failed);
  }
  static bool has_error(const Response& response) { return !response.field("x-yt-error").empty(); }

  void check_rows(const Block& block, const Example& example) {
    const Response response = ask_query("select_rows", block, example);
    check_error(example, response);
    if (has_error(response)) return;
    std::vector<std::string> rows;
    const auto answer = parse_yson(response.body, YsonDocument::kListFragment);
    for (const YsonNode& row : *answer->as<YsonList>()) {
      rows.push_back(write_yson(row, YsonFormat::kText));
    }
    std::vector<std::string> wanted;
    for (const std::string& row : example.answer) {
      const auto node = parse_yson(row);
      ASSERT_TRUE(node) << row;
      wanted.push_back(write_yson(*node, YsonFormat::kText));
    }
    if (!example.text.contains("limit")) {
      std::ranges::sort(rows);
      std::ranges::sort(wanted);
    }
    EXPECT_EQ(rows, wanted);
  }
  void check_value(const Block& block, const Example& example) {
    const Response response = ask_query("select_rows", block, example);
    check_error(example, response);
    if (has_error(response)) return;
    const auto answer = parse_yson(response.body, YsonDocument::kListFragment);
    ASSERT_EQ(answer->as<YsonList>()->size(), 1U);
    const auto wanted = parse_yson(example.answer[0]);
    ASSERT_TRUE(wanted) << example.answer[0];
    const YsonNode* value = answer->as<YsonList>()->front().find("x");
    EXPECT_EQ(*value, *wanted) << write_yson(*value, YsonFormat::kText);
  }
  // One line per key range, or per step.
  void check_plan(const Block& block, const Example& example) {
    const Response response = ask_query("explain_query", block, example);
    ASSERT_EQ(response.field("x-yt-error"), "");
    const auto plan = parse_yson(response.body);
    ASSERT_TRUE(plan) << response.body;
    std::vector<std::string> lines;
    for (const YsonNode& item : *plan->find("query")->find(block.kind)->as<YsonList>()) {
      if (const auto* bounds = item.as<YsonList>()) {
        lines.push_back(*bounds->at(0).as<std::string>() + " .. " +
                        *bounds->at(1).as<std::string>());
      } else {
        lines.push_back(*item.find("step")->as<std::string>());
      }
    }
    EXPECT_EQ(lines, example.answer);
  }

  void check(const Block& block) {
    if (block.kind == "table") return make_table(block);
    if (block.kind == "text") return;
    const bool values = block.kind == "values";
    for (const Example& example : values ? expressions_of(block) : queries_of(block)) {
      SCOPED_TRACE(fmt::format("docs/queries.md:{}: {}", example.line, example.text));
      if (values) {
        check_value(block, example);
      } else if (block.kind == "query") {
        check_rows(block, example);
      } else if (block.kind == "ranges" || block.kind == "steps") {
        check_plan(block, example);
      } else {
        FAIL() << "unknown kind of block: " << block.kind;
      }
      ++examples_;
    }
  }

  std::size_t examples_ = 0;
};

TEST_F(QueriesPage, ExamplesAreTrue) {
  for (const Block& block : read_page()) check(block);
  EXPECT_GT(examples_, 200U);
}

// Names before a parenthesis in all examples.
std::set<std::string> called_names() {
  std::set<std::string> names;
  const std::regex call(R"((\w+)\()");
  for (const Block& block : read_page()) {
    if (block.kind != "values" && block.kind != "query") continue;
    for (const std::string& line : block.lines) {
      for (std::sregex_iterator at(line.begin(), line.end(), call), end; at != end; ++at) {
        names.insert((*at)[1].str());
      }
    }
  }
  return names;
}

TEST(QueriesPageTest, EachFunctionHasAnExample) {
  const std::set<std::string> names = called_names();
  for (const query::FunctionInfo& info : query::all_functions()) {
    if (info.function == query::Function::kUnsupported) continue;
    EXPECT_TRUE(names.contains(std::string(info.name))) << info.name;
  }
  for (const query::AggregateInfo& info : query::all_aggregates()) {
    if (info.function == query::AggregateFunction::kUnsupported) continue;
    // Of hll_7 to hll_14 one stands for all.
    if (info.name.starts_with("hll_") && !info.name.starts_with("hll_10")) continue;
    EXPECT_TRUE(names.contains(std::string(info.name))) << info.name;
  }
}

}  // namespace
}  // namespace moraine::yt

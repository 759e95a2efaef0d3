#include "app/yt_verbs/arguments.h"

#include <gtest/gtest.h>

#include <set>

#include "app/yt_client/commands.h"
#include "yson/yson.h"

namespace moraine::app {
namespace {

// The parameters of a line in YSON, or the error.
std::string parsed(const std::string& verb, const std::vector<std::string>& words,
                   std::string_view prefix = "") {
  const Verb* found = find_verb(verb);
  if (found == nullptr) return "no verb " + verb;
  const auto arguments = parse_arguments(*found, words, prefix);
  if (!arguments) return arguments.error().context;
  return write_yson(YsonNode(arguments->parameters), YsonFormat::kText);
}

std::string yson(std::string_view text) {
  const auto node = parse_yson(text);
  return node ? write_yson(*node, YsonFormat::kText) : node.error().message();
}

TEST(VerbArguments, OfTheLinesThatTheSpecificationPrints) {
  EXPECT_EQ(parsed("create", {"table", "//path/to/table", "--attributes",
                              "{dynamic=%true;schema=[{name=key;type=string;sort_order=ascending}; "
                              "{name=value;type=string}]}"}),
            yson("{attributes={dynamic=%true;schema=[{name=key;type=string;sort_order=ascending};"
                 "{name=value;type=string}]};type=table;path=\"//path/to/table\"}"));
  EXPECT_EQ(parsed("set", {"//table/@forced_compaction_revision", "1"}),
            yson("{path=\"//table/@forced_compaction_revision\"}"))
      << "the value is sent as the body";
  EXPECT_EQ(parsed("remount-table", {"//table"}), yson("{path=\"//table\"}"));
}

TEST(VerbArguments, ArePositionalOrOptions) {
  const std::string expected = yson("{type=map_node;path=\"//a\";recursive=%true}");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"map_node", "//a", "-r"},
                                             {"--type", "map_node", "--path=//a", "--recursive"},
                                             {"-r", "map_node", "--path", "//a"},
                                             {"--type=map_node", "--rec", "--", "//a"}}) {
    const Verb* verb = find_verb("create");
    const auto arguments = parse_arguments(*verb, words);
    ASSERT_TRUE(arguments) << arguments.error().message();
    EXPECT_EQ(YsonNode(arguments->parameters), *parse_yson(expected)) << words[0];
  }
}

TEST(VerbArguments, TakeListsAndNumbers) {
  EXPECT_EQ(parsed("reshard-table", {"//t", "[]", "[10]", "[-5;a]", "--sync"}),
            yson("{path=\"//t\";pivot_keys=[[];[10];[-5;a]]}"));
  EXPECT_EQ(parsed("reshard-table", {"--tablet-count", "4", "//t", "--uniform"}),
            yson("{tablet_count=4;uniform=%true;path=\"//t\"}"));
  EXPECT_EQ(parsed("get-tablet-infos", {"//t", "--tablet-indexes", "0", "1", "2"}),
            yson("{tablet_indexes=[0;1;2];path=\"//t\"}"));
  EXPECT_EQ(parsed("lookup-rows", {"--column-name", "a", "//t", "--column-name", "b"}),
            yson("{column_names=[a;b];path=\"//t\"}"));
  EXPECT_EQ(parsed("trim-rows", {"//t", "0", "100"}),
            yson("{path=\"//t\";tablet_index=0;trimmed_row_count=100}"));
  EXPECT_EQ(parsed("trim-rows", {"--path", "//t", "0", "-1"}),
            yson("{path=\"//t\";tablet_index=0;trimmed_row_count=-1}"))
      << "a number is no option";
  EXPECT_EQ(parsed("select-rows", {"* from [//t]", "--timestamp", "18446744073709551615"}),
            yson("{timestamp=18446744073709551615u;query=\"* from [//t]\"}"));
}

TEST(VerbArguments, OppositesClearTheSameParameter) {
  EXPECT_EQ(parsed("insert-rows", {"//t", "--update", "--no-aggregate", "--atomicity", "none"}),
            yson("{update=%true;aggregate=%false;atomicity=none;path=\"//t\"}"));
  EXPECT_EQ(parsed("alter-table", {"//t", "--static"}), yson("{dynamic=%false;path=\"//t\"}"));
  EXPECT_EQ(parsed("select-rows", {"q", "--forbid-full-scan"}),
            yson("{allow_full_scan=%false;query=q}"));
}

TEST(VerbArguments, MapsAreMergedAndParametersAdded) {
  EXPECT_EQ(parsed("create", {"table", "//t", "--attributes", "{a={x=1}}", "--attributes",
                              "{a={y=2};b=3}", "--params", "{force=%true;attributes={c=4}}"}),
            yson("{attributes={a={x=1;y=2};b=3;c=4};type=table;path=\"//t\";force=%true}"));
}

TEST(VerbArguments, PathsMayBeRelative) {
  EXPECT_EQ(parsed("get", {"t/@id"}, "//home/user"), yson("{path=\"//home/user/t/@id\"}"));
  EXPECT_EQ(parsed("get", {"t", "--prefix", "//a/"}, "//b"), yson("{path=\"//a/t\"}"));
  EXPECT_EQ(parsed("get", {"t"}),
            "path 't' begins neither with // nor with #, and there is no --prefix");
  for (const char* path : {"/", "//a", "#1-2-3-4", "<append=%true>//a"}) {
    EXPECT_EQ(*resolve_path(path, "//b"), path);
  }
  EXPECT_EQ(plain_path("<a=\">\";b=<c=1>2>//t/x{k,v}[1:2]"), "//t/x");
  EXPECT_EQ(plain_path("//t/\\[x\\]"), "//t/\\[x\\]");
  EXPECT_EQ(plain_path("<unclosed"), "");
}

TEST(VerbArguments, ErrorsNameTheArgument) {
  EXPECT_EQ(parsed("create", {}), "TYPE is missing");
  EXPECT_EQ(parsed("copy", {"//a"}), "DESTINATION_PATH is missing");
  EXPECT_EQ(parsed("remove", {"//a", "//b"}), "'//b' is one word too many");
  EXPECT_EQ(parsed("remove", {"//a", "--fast"}), "there is no option --fast");
  EXPECT_EQ(parsed("remove", {"//a", "-x"}), "there is no option -x");
  EXPECT_EQ(parsed("remove", {"//a", "--force=1"}), "--force takes no value");
  EXPECT_EQ(parsed("remove", {"--path"}), "--path wants a value");
  EXPECT_EQ(parsed("get", {"//a", "--max-size", "big"}),
            "--max-size wants a whole number, not 'big'");
  EXPECT_EQ(parsed("lock", {"//a", "--mode", "weak"}),
            "--mode: 'weak' is none of snapshot, shared, exclusive");
  EXPECT_EQ(parsed("mount-table", {"//a", "--f"}), "--f may be --first-tablet-index or --freeze");
  EXPECT_TRUE(parsed("create", {"table", "//a", "--attributes", "{a=}"})
                  .starts_with("--attributes wants YSON: "));
  EXPECT_EQ(parsed("get", {"//a", "--params", "1"}), "--params wants a map in YSON");
}

TEST(VerbArguments, FindTakesNameWithOneDash) {
  const auto arguments =
      parse_arguments(*find_verb("find"), std::vector<std::string>{"//a", "-name", "b*", "-l"});
  ASSERT_TRUE(arguments) << arguments.error().message();
  EXPECT_EQ(arguments->text("name"), "b*");
  EXPECT_TRUE(arguments->flag("long_format"));
}

TEST(VerbTables, AreConsistent) {
  std::set<std::string_view> names;
  for (const Verb& verb : yt_verbs()) {
    EXPECT_TRUE(names.insert(verb.name).second) << verb.name;
    EXPECT_FALSE(verb.help.empty()) << verb.name;
    EXPECT_TRUE(verb.command.empty() || find_command(verb.command) != nullptr) << verb.name;
    std::set<std::string_view> options;
    std::set<char> letters;
    bool several = false;
    for (const auto* list : {&verb.arguments, &common_arguments()}) {
      for (const VerbArgument& argument : *list) {
        EXPECT_TRUE(options.insert(argument.name).second) << verb.name << " --" << argument.name;
        EXPECT_TRUE(argument.letter == 0 || letters.insert(argument.letter).second) << verb.name;
        if (argument.place == VerbArgument::Place::kOption) continue;
        EXPECT_FALSE(several) << verb.name << ": a list takes all words, " << argument.name;
        several = argument.count == VerbArgument::Count::kSeveral;
      }
    }
    EXPECT_TRUE(help_of(verb).contains("Usage: moraine " + std::string(verb.name)));
  }
}

}  // namespace
}  // namespace moraine::app

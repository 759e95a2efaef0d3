// Every parameter of every command with values of wrong types, missing and huge: a proper error, or
// a result, and the node goes on.
#include "gateway/yt/command.h"
#include "gateway/yt/yt_test_util.h"
#include "yson/yson.h"

namespace moraine::yt {
namespace {

// A command, parameters with which it is carried out (YSON), its data, and the parameters that it
// reads.
struct Subject {
  std::string_view name;
  std::string_view parameters;
  std::string_view data;
  std::vector<std::string_view> read;
};

const std::vector<std::string_view> kScope = {"transaction_id", "ping_ancestor_transactions",
                                              "prerequisite_transaction_ids"};
const std::vector<std::string_view> kMutation = {"mutation_id", "retry"};
const std::vector<std::string_view> kTablets = {"path", "first_tablet_index", "last_tablet_index"};
const std::vector<std::string_view> kSelect = {"query",
                                               "syntax_version",
                                               "expression_builder_version",
                                               "use_canonical_null_relations",
                                               "allow_join_without_index",
                                               "placeholder_values",
                                               "input_row_limit",
                                               "output_row_limit",
                                               "range_expansion_limit",
                                               "allow_full_scan",
                                               "fail_on_incomplete_result",
                                               "timeout",
                                               "timestamp",
                                               "retention_timestamp",
                                               "versioned_read_options",
                                               "transaction_id"};
const std::vector<std::string_view> kCopy = {"source_path",
                                             "destination_path",
                                             "recursive",
                                             "ignore_existing",
                                             "force",
                                             "preserve_creation_time",
                                             "preserve_modification_time",
                                             "preserve_expiration_time",
                                             "preserve_expiration_timeout"};
const std::vector<std::string_view> kStart = {"type", "timeout", "atomicity", "attributes",
                                              "transaction_id"};

const std::vector<Subject> kSubjects = {
    {"start_tx", "{}", "", kStart},
    {"start_transaction", "{}", "", kStart},
    {"ping_tx", "{transaction_id=\"1-2-3-4\"}", "", {"transaction_id"}},
    {"ping_transaction", "{transaction_id=\"1-2-3-4\"}", "", {"transaction_id"}},
    {"commit_tx", "{transaction_id=\"1-2-3-4\"}", "", {"transaction_id"}},
    {"commit_transaction", "{transaction_id=\"1-2-3-4\"}", "", {"transaction_id"}},
    {"abort_tx", "{transaction_id=\"1-2-3-4\"}", "", {"transaction_id", "force"}},
    {"abort_transaction", "{transaction_id=\"1-2-3-4\"}", "", {"transaction_id", "force"}},
    {"generate_timestamp", "{}", "", {}},
    {"get", "{path=\"//tmp\"}", "", {"path", "attributes", "max_size", "return_only_value"}},
    {"list", "{path=\"//tmp\"}", "", {"path", "attributes", "max_size", "return_only_value"}},
    {"exists", "{path=\"//tmp\"}", "", {"path"}},
    {"create",
     "{type=map_node;path=\"//tmp/made\";ignore_existing=%true}",
     "",
     {"type", "path", "attributes", "recursive", "ignore_existing", "lock_existing", "force",
      "ignore_type_mismatch"}},
    {"lock", "{path=\"//tmp\"}", "", {"path", "mode", "waitable", "child_key", "attribute_key"}},
    {"unlock", "{path=\"//tmp\"}", "", {"path"}},
    {"copy", "{source_path=\"//tmp/doc\";destination_path=\"//tmp/c\"}", "", kCopy},
    {"move", "{source_path=\"//tmp/doc\";destination_path=\"//tmp/doc\"}", "", kCopy},
    {"link",
     "{target_path=\"//tmp/doc\";link_path=\"//tmp/link\";ignore_existing=%true}",
     "",
     {"target_path", "link_path", "recursive", "ignore_existing", "lock_existing", "force"}},
    {"remove", "{path=\"//tmp/none\"}", "", {"path", "recursive", "force"}},
    {"set", "{path=\"//tmp/doc\"}", "{a=1}", {"path", "recursive", "force"}},
    {"multiset_attributes", "{path=\"//tmp/doc\"}", "{a=1}", {"path", "recursive", "force"}},
    {"execute_batch", "{requests=[]}", "", {"requests"}},
    {"mount_table",
     "{path=\"//t\"}",
     "",
     {"path", "first_tablet_index", "last_tablet_index", "freeze"}},
    {"unmount_table",
     "{path=\"//u\"}",
     "",
     {"path", "first_tablet_index", "last_tablet_index", "force"}},
    {"remount_table", "{path=\"//u\"}", "", kTablets},
    {"freeze_table", "{path=\"//u\"}", "", kTablets},
    {"unfreeze_table", "{path=\"//u\"}", "", kTablets},
    {"reshard_table",
     "{path=\"//u\"}",
     "",
     {"path", "first_tablet_index", "last_tablet_index", "pivot_keys", "tablet_count", "uniform"}},
    {"alter_table", "{path=\"//u\"}", "", {"path", "dynamic", "schema"}},
    {"reshard_table_automatic", "{path=\"//t\"}", "", {"path"}},
    {"balance_tablet_cells", "{}", "", {}},
    {"get_tablet_infos", "{path=\"//t\";tablet_indexes=[0]}", "", {"path", "tablet_indexes"}},
    {"get_tablet_errors", "{path=\"//t\"}", "", {"path", "limit"}},
    {"get_table_pivot_keys", "{path=\"//t\"}", "", {"path", "represent_key_as_list"}},
    {"get_in_sync_replicas", "{path=\"//t\"}", "", {"path"}},
    {"insert_rows",
     "{path=\"//t\"}",
     "{k=1;v=a}",
     {"path", "update", "aggregate", "lock_type", "transaction_id", "atomicity", "durability"}},
    {"delete_rows",
     "{path=\"//t\"}",
     "{k=1}",
     {"path", "transaction_id", "atomicity", "durability"}},
    {"lock_rows",
     "{path=\"//t\"}",
     "{k=1}",
     {"path", "transaction_id", "locks", "lock_type", "atomicity"}},
    {"trim_rows", "{path=\"//t\"}", "", {"path", "tablet_index", "trimmed_row_count"}},
    {"lookup_rows",
     "{path=\"//t\"}",
     "{k=1}",
     {"path", "column_names", "keep_missing_rows", "versioned", "timestamp", "retention_timestamp",
      "use_lookup_cache", "enable_partial_result", "retention_config", "versioned_read_options",
      "transaction_id"}},
    {"select_rows", "{query=\"* from [//t]\"}", "", kSelect},
    {"explain_query", "{query=\"* from [//t]\"}", "", kSelect},
    {"read_table", "{path=\"//t\"}", "", {"path", "control_attributes"}},
    {"write_table", "{path=\"//t\"}", "{k=1}", {"path"}},
    {"concatenate",
     "{source_paths=[\"//t\"];destination_path=\"//t\"}",
     "",
     {"source_paths", "destination_path"}},
    {"parse_ypath", "{path=\"//t\"}", "", {"path"}},
    {"check_permission",
     "{user=u;permission=read;path=\"//t\"}",
     "",
     {"user", "permission", "path"}},
    {"get_current_user", "{}", "", {}},
    {"get_version", "{}", "", {}},
    {"get_supported_features", "{}", "", {}},
    {"discover_proxies", "{}", "", {"type"}},
};

// Values that few parameters take, as YSON.
const std::vector<std::string>& values() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> made = {"5",
                                     "-1",
                                     "0",
                                     "18446744073709551615u",
                                     "-9223372036854775808",
                                     "9223372036854775807",
                                     "1e300",
                                     "%nan",
                                     "%true",
                                     "\"\"",
                                     "x",
                                     "\"//\"",
                                     "\"//tmp/\\\\x00\"",
                                     "\"#0-0-0-0\"",
                                     "\"1-2-3-4\"",
                                     "\"ffffffff-ffffffff-ffffffff-ffffffff\"",
                                     "[]",
                                     "[[];{};#]",
                                     "[5;x]",
                                     "{}",
                                     "{a={b=[]}}",
                                     "<a=1>#",
                                     "<append=%true;ranges=5>x",
                                     "\"9999999999999999999999\""};
    made.push_back("\"//" + std::string(100'000, 'a') + "\"");
    std::string deep = "\"/";
    for (int i = 0; i < 10'000; ++i) deep += "/a";
    made.push_back(deep + "\"");
    std::string same = "[";
    for (int i = 0; i < 20'000; ++i) same += "v;";
    made.push_back(same + "]");
    made.push_back(std::string(200, '[') + std::string(200, ']'));
    return made;
  }();
  return all;
}

class BadParameters : public YtTest {
 protected:
  BadParameters() : YtTest(1) {
    create_table("t", small_schema());
    create_table("u", small_schema());
    result("set", R"({"path":"//tmp/doc"})", R"({"a":1})");
  }
  Response run(const Subject& subject, const YsonMap& parameters) {
    const unsigned version = find_command(subject.name, 4) != nullptr ? 4 : 3;
    YsonNode given(parameters);
    std::string header = write_yson(given, YsonFormat::kText);
    std::erase(header, '\n');
    return send("PUT", fmt::format("/api/v{}/{}", version, subject.name),
                {{"X-YT-Header-Format", "yson"},
                 {"X-YT-Parameters", std::move(header)},
                 {"X-YT-Input-Format", "yson"}},
                std::string(subject.data));
  }
  static void expect_proper(const Response& response, const std::string& what) {
    if (response.status == 200) return;
    EXPECT_GE(response.status, 400u) << what;
    EXPECT_LT(response.status, 500u) << what << ": " << response.body.substr(0, 300);
    EXPECT_NE(response.body.find("\"code\""), std::string::npos) << what;
    EXPECT_NE(response.field("x-yt-error"), "") << what;
  }
};

TEST_F(BadParameters, EveryCommandIsTried) {
  for (const Command& command : commands()) {
    if (command.handler == nullptr) continue;
    const auto found = std::ranges::find(kSubjects, command.name, &Subject::name);
    EXPECT_NE(found, kSubjects.end()) << command.name << " is missing in this test";
  }
}

TEST_F(BadParameters, WrongTypesMissingAndHugeOnes) {
  for (const Subject& subject : kSubjects) {
    const YsonMap sound = *parse_yson(subject.parameters)->as<YsonMap>();
    std::vector<std::string_view> names = subject.read;
    names.insert(names.end(), kScope.begin(), kScope.end());
    names.insert(names.end(), kMutation.begin(), kMutation.end());
    names.push_back("output_format");
    for (const std::string_view name : names) {
      YsonMap without = sound;
      without.erase(name);
      expect_proper(run(subject, without), fmt::format("{} without {}", subject.name, name));
      for (const std::string& value : values()) {
        YsonMap given = sound;
        given.set(std::string(name), *parse_yson(value));
        expect_proper(run(subject, given),
                      fmt::format("{} {}={}", subject.name, name, value.substr(0, 40)));
      }
    }
  }
  EXPECT_EQ(send("GET", "/api/v4/get_current_user").body, R"({"user":"root"})");
}

TEST_F(BadParameters, CommandsThatAreNotSupportedSaySo) {
  for (const Command& command : commands()) {
    if (command.handler != nullptr) continue;
    for (const unsigned version : {3u, 4u}) {
      if (!command.known(version)) continue;
      const Response response = send("PUT", fmt::format("/api/v{}/{}", version, command.name),
                                     {{"X-YT-Parameters", R"({"path":[[[1]]],"query":{}})"}}, "{");
      EXPECT_EQ(response.status, 400u) << command.name;
      EXPECT_NE(response.body.find("is not supported"), std::string::npos) << response.body;
    }
  }
  for (const char* name : {"none", "get_", "_", "GETT", "get-node", "..", "%00", "a/b"}) {
    EXPECT_GE(send("PUT", fmt::format("/api/v4/{}", name)).status, 400u) << name;
  }
}

}  // namespace
}  // namespace moraine::yt

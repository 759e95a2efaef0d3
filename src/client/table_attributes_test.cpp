// Attributes of tables that need no running table.

#include "client/table_attributes.h"

#include <gtest/gtest.h>

#include "client/table_option_names.h"
#include "client/yson_fields.h"
#include "table/model/schema_check.h"
#include "yson/yson.h"

namespace moraine::client {
namespace {

YsonNode yson(std::string_view text) {
  auto parsed = parse_yson(text);
  EXPECT_TRUE(parsed) << text << ": " << parsed.error().message();
  return parsed ? std::move(*parsed) : YsonNode();
}

Result<TableOfAttributes> created(std::string_view attributes) {
  return table_of_attributes(*yson(attributes).as<YsonMap>());
}

std::string error_of(std::string_view attributes) {
  const auto made = created(attributes);
  return made ? "created" : made.error().context;
}

constexpr std::string_view kSchema =
    "[{name=k;type=int64;sort_order=ascending;required=%true};"
    "{name=l;type_v3={type_name=optional;item=uint64};sort_order=ascending};"
    "{name=v;type=boolean;lock=a;group=g};"
    "{name=w;type_v3=yson;required=%true};"
    "{name=s;type=int64;aggregate=sum};"
    "{name=h;type=string;max_inline_hunk_size=100}]";

TEST(TableAttributesTest, SchemasAreReadAndWritten) {
  const auto schema = schema_of_yson(yson(kSchema));
  ASSERT_TRUE(schema) << schema.error().message();
  EXPECT_EQ(schema->key_count(), 2u);
  EXPECT_TRUE(schema->columns[0].required);
  EXPECT_FALSE(schema->columns[1].required);
  EXPECT_EQ(schema->columns[1].type, ColumnType::kUint64);
  EXPECT_EQ(schema->columns[3].type, ColumnType::kAny);
  EXPECT_EQ(schema->columns[4].aggregate, Aggregate::kSum);
  EXPECT_TRUE(schema->strict);
  EXPECT_FALSE(schema->unique_keys);
  const YsonNode written = schema_to_yson(*schema);
  EXPECT_EQ(schema_of_yson(written).value(), *schema);
  const YsonNode expected = yson(
      "<strict=%true;unique_keys=%false>["
      "{name=k;type=int64;required=%true;type_v3=int64;sort_order=ascending};"
      "{name=l;type=uint64;required=%false;type_v3={type_name=optional;item=uint64};"
      "sort_order=ascending};"
      "{name=v;type=boolean;required=%false;type_v3={type_name=optional;item=bool};"
      "lock=a;group=g};"
      "{name=w;type=any;required=%true;type_v3=yson};"
      "{name=s;type=int64;required=%false;type_v3={type_name=optional;item=int64};"
      "aggregate=sum};"
      "{name=h;type=string;required=%false;type_v3={type_name=optional;item=string};"
      "max_inline_hunk_size=100}]");
  EXPECT_EQ(written, expected) << write_yson(written, YsonFormat::kText);
}

TEST(TableAttributesTest, WrongSchemasSayWhatIsWrong) {
  const auto error = [](std::string_view text) {
    const auto schema = schema_of_yson(yson(text));
    return schema ? std::string("valid") : schema.error().context;
  };
  EXPECT_EQ(error("{}"), "New table schema is not valid: a schema is a list of columns");
  EXPECT_EQ(error("[5]"), "New table schema is not valid: a column is not a map");
  EXPECT_EQ(error("[{type=int64}]"), "New table schema is not valid: a column has no name");
  EXPECT_EQ(error("[{name=a}]"), "New table schema is not valid: column \"a\" has no type");
  EXPECT_EQ(error("[{name=a;type=int128}]"),
            "New table schema is not valid: column \"a\" has the unknown type \"int128\"");
  EXPECT_EQ(error("[{name=a;type=int64;sort_order=descending}]"),
            "New table schema is not valid: column \"a\" has sort order \"descending\", which is "
            "not allowed");
  EXPECT_NE(error("[{name=a;type=int64;type_v3=string}]").find("contradicts"), std::string::npos);
  EXPECT_NE(error("[{name=a;required=%true;type_v3={type_name=optional;item=string}}]")
                .find("contradicts"),
            std::string::npos);
  EXPECT_NE(error("[{name=a;type=int64;aggregate=median}]").find("unknown aggregate"),
            std::string::npos);
  EXPECT_NE(error("[{name=a;type=string;max_inline_hunk_size=0}]").find("not positive"),
            std::string::npos);
}

TEST(TableAttributesTest, ATableIsWhatItsAttributesSay) {
  const auto made = created(
      "{dynamic=%true;schema=[{name=k;type=int64;sort_order=ascending};{name=v;type=string}];"
      "optimize_for=scan;compression_codec=zstd_3;in_memory_mode=compressed;"
      "min_data_ttl=123;mount_config={max_data_ttl=456;min_data_versions=0};"
      "min_data_versions=7;chunk_writer={block_size=1000;key_filter={enable=%false}};"
      "replication_factor=2;pivot_keys=[[];[10];[20]];mine={a=1};account=tmp}");
  ASSERT_TRUE(made) << made.error().message();
  const TableOptions& options = made->table.options;
  EXPECT_TRUE(made->table.dynamic);
  EXPECT_TRUE(made->table.schema.unique_keys);
  EXPECT_EQ(made->table.state, MountState::kUnmounted);
  EXPECT_EQ(options.optimize_for, OptimizeFor::kScan);
  EXPECT_EQ(options.compression_codec, "zstd_3");
  EXPECT_EQ(options.in_memory_mode, InMemoryMode::kCompressed);
  EXPECT_EQ(options.mount.min_data_ttl.count(), 123);
  EXPECT_EQ(options.mount.max_data_ttl.count(), 456);
  EXPECT_EQ(options.mount.min_data_versions, 0u) << "mount_config counts";
  EXPECT_EQ(options.block_size, 1000u);
  EXPECT_FALSE(options.key_filter);
  EXPECT_EQ(made->table.pivots.size(), 2u);
  EXPECT_EQ(made->user.size(), 2u);
  EXPECT_NE(made->user.find("mine"), nullptr);
  TableRecord record;
  record.options = options;
  record.kept = made->table.kept;
  EXPECT_EQ(mount_config_of(record, false),
            yson("{min_data_versions=0;min_data_ttl=123;max_data_ttl=456}"))
      << write_yson(mount_config_of(record, false), YsonFormat::kText);
  EXPECT_EQ(value_of(record, *find_settable("replication_factor")), YsonNode(2));
  EXPECT_EQ(value_of(record, *find_settable("min_data_ttl")), YsonNode(123));
  EXPECT_EQ(value_of(record, *find_settable("merge_rows_on_flush")), std::nullopt);
}

TEST(TableAttributesTest, WithoutDynamicATableIsStatic) {
  const auto made = created("{schema=[{name=a;type=string}]}");
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_FALSE(made->table.dynamic);
  EXPECT_FALSE(made->table.schema.unique_keys);
}

TEST(TableAttributesTest, WrongAttributesAreRefused) {
  const std::string head =
      "{dynamic=%true;schema=[{name=k;type=int64;sort_order=ascending};{name=v;type=string}];";
  const auto error = [&](std::string_view rest) {
    return error_of(head + std::string(rest) + "}");
  };
  EXPECT_EQ(error(""), "created");
  EXPECT_EQ(error("pivot_keys=[]"), "Tablet count must be positive");
  EXPECT_EQ(error("tablet_count=0"), "Tablet count must be positive");
  EXPECT_EQ(error("tablet_count=4"), "created");
  EXPECT_EQ(error("pivot_keys=[[10];[20]]"), "First pivot key must be empty");
  EXPECT_EQ(error("pivot_keys=[[];[1];[1]]"), "Pivot keys must be strictly increasing");
  EXPECT_NE(error("pivot_keys=[[];[1u]]").find("Mismatched type of column \"k\""),
            std::string::npos);
  EXPECT_EQ(error("key_columns=[k]"), "Builtin attribute \"key_columns\" cannot be set");
  EXPECT_EQ(error("tablet_state=mounted"), "Builtin attribute \"tablet_state\" cannot be set");
  EXPECT_EQ(error("min_data_ttl=-1"),
            "Error parsing attribute \"min_data_ttl\": it must be a number of milliseconds");
  EXPECT_EQ(error("min_data_ttl=\"30s\""), "created");
  EXPECT_NE(error("compression_codec=zip").find("compression_codec"), std::string::npos);
  EXPECT_NE(error("mount_config={max_data_tll=1}").find("unrecognized option \"max_data_tll\""),
            std::string::npos);
  EXPECT_NE(error_of("{dynamic=%true}").find("must have a schema"), std::string::npos);
}

TEST(TableAttributesTest, EachNameIsListedOnceAndWritableOnesCanBeSet) {
  std::vector<std::string_view> seen;
  for (const TableAttribute& attribute : table_attribute_names()) {
    EXPECT_EQ(std::ranges::count(seen, attribute.name), 0) << attribute.name;
    seen.push_back(attribute.name);
  }
  for (const SettableAttribute& attribute : settable_attributes()) {
    TableAttributeChanges changes;
    const auto removed = add_change(changes, attribute, nullptr);
    ASSERT_TRUE(removed) << attribute.name;
    TableOptions options;
    EXPECT_TRUE(set_attributes(options, changes.options)) << attribute.name;
    EXPECT_EQ(options, TableOptions()) << "removing is setting the default: " << attribute.name;
    if (attribute.missing.empty()) continue;
    TableAttributeChanges set;
    const YsonNode value = yson(attribute.missing);
    EXPECT_TRUE(add_change(set, attribute, &value)) << attribute.name;
  }
}

TEST(TableAttributesTest, RetentionConfigsAreRead) {
  const auto config = retention_of_yson(
      yson("{min_data_ttl=0;max_data_ttl=1000;min_data_versions=0;max_data_versions=3u}"));
  ASSERT_TRUE(config) << config.error().message();
  EXPECT_EQ(config->min_data_ttl.count(), 0);
  EXPECT_EQ(config->max_data_ttl.count(), 1000);
  EXPECT_EQ(config->min_data_versions, 0u);
  EXPECT_EQ(config->max_data_versions, 3u);
  EXPECT_EQ(retention_of_yson(yson("{}")).value(), RetentionConfig());
  EXPECT_FALSE(retention_of_yson(yson("[]")));
  EXPECT_FALSE(retention_of_yson(yson("{max_data_versions=-1}")));
  EXPECT_FALSE(retention_of_yson(yson("{max_data_versions=5000000000}")));
  EXPECT_FALSE(retention_of_yson(yson("{min_data_ttl=soon}")));
}

TEST(TableAttributesTest, IdsOfTabletsAreObjectIds) {
  for (const std::uint64_t value : {std::uint64_t{1}, std::uint64_t{0x1234567890abcdef}}) {
    const PathId id = tablet_object_id(TabletId{value});
    EXPECT_EQ(object_type(id), ObjectType::kTablet);
    EXPECT_EQ(tablet_of_object_id(id), TabletId{value});
    EXPECT_EQ(parse_object_id(to_text(id)).value(), id);
  }
  EXPECT_EQ(to_text(tablet_object_id(TabletId{0x2a})), "2a-0-102be-1");
  EXPECT_EQ(object_type(tablet_cell_id()), ObjectType::kTabletCell);
  EXPECT_EQ(tablet_of_object_id(tablet_cell_id()), std::nullopt);
}

}  // namespace
}  // namespace moraine::client

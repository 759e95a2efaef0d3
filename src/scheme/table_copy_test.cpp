#include "scheme/table_copy.h"

#include <gtest/gtest.h>

#include "scheme/test_schema.h"
#include "scheme/tree_state.h"

namespace moraine {
namespace {

TableRecord table(bool dynamic, MountState state) {
  TableRecord record;
  record.dynamic = dynamic;
  record.schema = small_schema();
  record.kept = {{"erasure_codec", "none"}};
  record.tablets.resize(dynamic ? 2 : 1);
  for (std::size_t i = 0; i < record.tablets.size(); ++i) {
    record.tablets[i].state = state;
    record.tablets[i].info =
        TabletInfo::simple(TabletId{10 + i}, GroupId{static_cast<std::uint32_t>(3 + i)}, 3);
  }
  if (dynamic) record.tablets[1].pivot = "p";
  return record;
}

NodePtr node_of(const TableRecord& record, std::string path) {
  auto node = std::make_shared<PathNode>();
  node->kind = NodeKind::kTable;
  node->path = std::move(path);
  node->id[0] = static_cast<std::uint8_t>(node->path.size());
  node->record = encode_table(record);
  return node;
}

TEST(TableCopyTest, BothTakeOverTheTablets) {
  const auto made = copy_table(table(true, MountState::kFrozen), "//t", TabletId{50});
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->tablets, 4u);
  ASSERT_TRUE(made->source);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::vector<TabletId> parents{TabletId{10 + i}};
    EXPECT_EQ(made->copy.tablets[i].parents, parents);
    EXPECT_EQ(made->source->tablets[i].parents, parents);
    EXPECT_EQ(made->copy.tablets[i].state, MountState::kUnmounted);
    EXPECT_EQ(made->source->tablets[i].state, MountState::kFrozen);
    EXPECT_EQ(made->copy.tablets[i].info.latest_group(kLogChannel).value, 3 + i);
    EXPECT_EQ(made->copy.retired[i].id, TabletId{10 + i});
    EXPECT_EQ(made->source->retired[i].id, TabletId{10 + i});
  }
  EXPECT_EQ(made->copy.tablets[1].pivot, "p");
  EXPECT_EQ(made->copy.kept.size(), 1u);
}

TEST(TableCopyTest, TabletsThatHaveNotBegunAreNotReplaced) {
  const auto first = copy_table(table(true, MountState::kUnmounted), "//t", TabletId{50});
  ASSERT_TRUE(first);
  const auto again = copy_table(*first->source, "//t", TabletId{60});
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->source);
  EXPECT_EQ(again->tablets, 2u);
  EXPECT_EQ(again->copy.tablets[0].parents, std::vector<TabletId>{TabletId{10}});
  EXPECT_EQ(again->copy.retired.size(), 2u);
}

TEST(TableCopyTest, StatesThatForbidIt) {
  EXPECT_EQ(
      copy_table(table(true, MountState::kMounted), "//t", TabletId{50}).error().context,
      "Cannot copy dynamic table //t since not all tablets are in \"unmounted\" or \"frozen\" "
      "state");
  EXPECT_FALSE(copy_table(table(true, MountState::kUnmounting), "//t", TabletId{50}));
  EXPECT_TRUE(check_movable(table(true, MountState::kUnmounted), "//t"));
  EXPECT_FALSE(check_movable(table(true, MountState::kFrozen), "//t"));
  EXPECT_TRUE(check_movable(table(false, MountState::kFrozen), "//t"));
  auto starting = table(false, MountState::kFrozen);
  starting.tablets[0].parents = {TabletId{5}};
  EXPECT_EQ(copy_table(starting, "//t", TabletId{50}).error().code, Errc::kUnavailable);
}

TEST(TableCopyTest, RetiredTabletsAreCountedByTheTree) {
  const auto made = copy_table(table(false, MountState::kFrozen), "//t", TabletId{50});
  ASSERT_TRUE(made);
  TreeState state;
  const NodePtr source = node_of(*made->source, "t");
  const NodePtr copy = node_of(made->copy, "copy");
  const TreePutAny put_source = NodePut{"t", nullptr, source};
  const TreePutAny put_copy = NodePut{"copy", nullptr, copy};
  state.apply(put_source);
  state.apply(put_copy);
  EXPECT_EQ(state.retired_by(TabletId{10}), 2u);
  state.revert(put_copy);
  EXPECT_EQ(state.retired_by(TabletId{10}), 1u);
  TableRecord released = *made->source;
  released.retired.clear();
  state.apply(NodePut{"t", source, node_of(released, "t")});
  EXPECT_EQ(state.retired_by(TabletId{10}), 0u);
}

TEST(TableCopyTest, RetiredTabletsAreReadWithoutTheRest) {
  TableRecord record = table(false, MountState::kFrozen);
  record.retired = {TabletInfo::simple(TabletId{7}, GroupId{3}, 3)};
  EXPECT_EQ(retired_tablets(*node_of(record, "t")), std::vector<TabletId>{TabletId{7}});
  PathNode broken = *node_of(record, "t");
  broken.record = Slice::copy_of("nonsense");
  EXPECT_TRUE(retired_tablets(broken).empty());
}

}  // namespace
}  // namespace moraine

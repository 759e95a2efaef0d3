// What a tree keeps has bounds, whatever is done to it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "io/random.h"
#include "scheme/tree_editor.h"

namespace moraine {
namespace {

class TreeBounds : public testing::Test {
 protected:
  using Body = std::function<Result<void>(TreeEditor&)>;

  Result<void> edit(const Body& body, std::optional<PathId> transaction = std::nullopt) {
    TreeEditContext context{++now_ms_, ids_, TabletId{1}, "root"};
    context.tree_bytes_max = bytes_max_;
    TreeEditor editor(state_, std::move(context), transaction);
    TRY_VOID(body(editor));
    TRY(const TreeEffects effects, editor.finish());
    for (const TreePutAny& put : effects.puts) state_.apply(put);
    return {};
  }
  Result<void> make(const std::string& path, std::size_t bytes) {
    return edit([&](TreeEditor& editor) -> Result<void> {
      PathNode node;
      node.kind = NodeKind::kDocument;
      node.path = path;
      node.record = Slice::copy_of(std::string(bytes, 'x'));
      TRY_VOID(editor.make(std::move(node)));
      return {};
    });
  }
  Result<void> remove(const std::string& path) {
    return edit([&](TreeEditor& editor) { return editor.remove(state_.find(path)); });
  }
  PathId begin() {
    PathId id{};
    EXPECT_TRUE(edit([&](TreeEditor& editor) -> Result<void> {
      TRY(const TransactionPtr begun, editor.begin({}));
      id = begun->id;
      return {};
    }));
    return id;
  }

  TreeState state_;
  SeededRandom ids_{5};
  std::uint64_t now_ms_ = 1'000;
  std::size_t bytes_max_ = kTreeBytesMax;
};

TEST_F(TreeBounds, ValuesAreRefusedWhenTheTreeIsFull) {
  bytes_max_ = 100'000;
  int made = 0;
  Result<void> last;
  for (; made < 100; ++made) {
    last = make(fmt::format("tmp/d{}", made), 10'000);
    if (!last) break;
  }
  EXPECT_GE(made, 8);
  EXPECT_LT(made, 10);
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code, Errc::kOverloaded);
  EXPECT_LE(state_.bytes(), bytes_max_);
  EXPECT_FALSE(make("tmp/other", 10'000));
  EXPECT_TRUE(make("tmp/small", 10));
  EXPECT_TRUE(remove("tmp/d0"));
  EXPECT_TRUE(make("tmp/other", 9'000));
  // Of a smaller bound what is there stays, and may be removed.
  bytes_max_ = 1'000;
  EXPECT_FALSE(make("tmp/more", 1));
  EXPECT_TRUE(remove("tmp/d1"));
}

TEST_F(TreeBounds, WhatIsTakenBackAndRemovedIsNotCounted) {
  ASSERT_TRUE(make("tmp/d", 1'000));
  const std::size_t before = state_.bytes();
  EXPECT_FALSE(edit([&](TreeEditor& editor) -> Result<void> {
    TRY_VOID(editor.set_attribute(state_.find("tmp/d"), "a", Slice::copy_of(std::string(99, 'x')),
                                  false));
    return fail(Errc::kInvalidArgument, "given up");
  }));
  EXPECT_EQ(state_.bytes(), before);
  ASSERT_TRUE(make("tmp/e", 1'000));
  EXPECT_GT(state_.bytes(), before + 1'000);
  ASSERT_TRUE(remove("tmp/e"));
  EXPECT_EQ(state_.bytes(), before);
  const PathId transaction = begin();
  EXPECT_GT(state_.bytes(), before);
  ASSERT_TRUE(edit([&](TreeEditor& editor) -> Result<void> {
    editor.abort(transaction);
    return {};
  }));
  EXPECT_EQ(state_.bytes(), before);
}

TEST_F(TreeBounds, ANodeHasABoundOfLocks) {
  std::size_t locks = 0;
  Result<void> last;
  while (last && locks <= kLocksPerNodeMax) {
    const PathId transaction = begin();
    last = edit(
        [&](TreeEditor& editor) -> Result<void> {
          for (std::size_t i = 0; i < kLocksPerTransactionMax; ++i) {
            const LockRequest request{LockMode::kShared, fmt::format("c{}", locks + 1), {}};
            TRY_VOID(editor.lock(state_.find("tmp"), request, false));
            ++locks;
          }
          return {};
        },
        transaction);
  }
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code, Errc::kOverloaded);
  EXPECT_NE(last.error().context.find("Node //tmp has"), std::string::npos) << last.error().context;
  EXPECT_EQ(locks, kLocksPerNodeMax);
}

}  // namespace
}  // namespace moraine

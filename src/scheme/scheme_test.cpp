#include "scheme/scheme.h"

#include <fmt/ranges.h>

#include "base/sealed.h"
#include "scheme/path.h"
#include "tablet/test_tablet.h"

namespace moraine {
namespace {

constexpr TabletId kFirst{1'000};

Slice text(std::string_view value) {
  return Slice::copy_of(value);
}

CreateNode directory(std::string path, bool parents = false) {
  CreateNode request;
  request.path = std::move(path);
  request.parents = parents;
  return request;
}

// Its record names the first of its tablets.
CreateNode topic(std::string path, std::uint32_t tablets) {
  CreateNode request;
  request.kind = NodeKind::kTopic;
  request.path = std::move(path);
  request.parents = true;
  request.tablets = tablets;
  request.record = [](TabletId first) {
    return Slice::copy_of(fmt::format("tablets from {}", first.value));
  };
  return request;
}

class SchemeTest : public testing::Test {
 protected:
  SchemeTest() : world_(5), storage_(world_) { boot(); }
  ~SchemeTest() override {
    stop();
    world_.shutdown();
  }

  static TabletInfo info() { return TabletInfo::simple(TabletId{7}, kTestGroup, 3); }

  void boot() {
    SchemeOptions options;
    options.first_tablet = kFirst;
    auto booted = world_.run(Scheme::boot(storage_.world(), storage_, info(), options));
    INVARIANT(booted, "{}", booted.error().message());
    scheme_ = std::move(*booted);
  }
  void stop() {
    if (scheme_) world_.run(scheme_->stop());
    scheme_.reset();
  }
  void restart() {
    stop();
    boot();
  }
  void cut_power() {
    storage_.node().on_stop([&] { scheme_->abandon(); });
    storage_.node().on_crash([&] { scheme_.reset(); });
    storage_.crash();
    boot();
  }
  // Bytes in the tablet of the scheme, which is not running.
  void store(std::string key, Slice value) {
    auto tablet = world_.run(KeyValue::boot(storage_.world(), storage_, info()));
    INVARIANT(tablet, "{}", tablet.error().message());
    std::vector<Command> commands;
    commands.push_back(WriteKey{std::move(key), std::move(value), false});
    const auto stored = world_.run((*tablet)->execute(std::move(commands)));
    INVARIANT(stored, "{}", stored.error().message());
    world_.run((*tablet)->stop());
  }
  Result<NodePtr> create(CreateNode request) {
    return world_.run(scheme_->create(std::move(request)));
  }
  Result<void> remove(const std::string& path, std::vector<TabletInfo> deleted = {}) {
    RemoveNode request;
    request.path = path;
    if (const NodePtr node = scheme_->find(path)) request.id = node->id;
    request.deleted = std::move(deleted);
    return world_.run(scheme_->remove(std::move(request)));
  }
  using Changes = std::map<std::string, std::optional<Slice>>;
  Result<NodePtr> set(const std::string& path, Changes changes, bool replace = false) {
    AlterAttributes request;
    request.path = path;
    if (const NodePtr node = scheme_->find(path)) request.id = node->id;
    request.changes = std::move(changes);
    request.replace = replace;
    return world_.run(scheme_->alter_attributes(std::move(request)));
  }
  std::string record(const std::string& path) {
    const NodePtr node = scheme_->find(path);
    return node ? std::string(node->record.text()) : "no node";
  }
  // As "a=1 b=2".
  std::string attributes(const std::string& path) {
    const NodePtr node = scheme_->find(path);
    if (!node) return "no node";
    std::vector<std::string> all;
    for (const auto& [name, value] : node->attributes) {
      all.push_back(fmt::format("{}={}", name, value.text()));
    }
    return fmt::format("{}", fmt::join(all, " "));
  }

  SimWorld world_;
  TestStorage storage_;
  std::unique_ptr<Scheme> scheme_;
};

TEST_F(SchemeTest, NodesAreThereAfterARestartAndAfterAPowerCut) {
  const auto created = create(topic("team/a/orders", 3));
  ASSERT_TRUE(created) << created.error().message();
  for (int i = 0; i < 3; ++i) {
    const NodePtr node = scheme_->find("team/a/orders");
    ASSERT_TRUE(node);
    EXPECT_EQ(node->kind, NodeKind::kTopic);
    EXPECT_EQ(node->id, (*created)->id);
    EXPECT_EQ(node->created_ms, (*created)->created_ms);
    EXPECT_EQ(record("team/a/orders"), "tablets from 1000");
    EXPECT_EQ(scheme_->find("team/a")->kind, NodeKind::kDirectory);
    EXPECT_EQ(scheme_->list("")->size(), 1u);
    EXPECT_EQ(scheme_->size(), 3u);
    i == 0 ? restart() : cut_power();
  }
}

TEST_F(SchemeTest, TabletIdsAreNeverGivenTwice) {
  ASSERT_TRUE(create(topic("a", 3)));
  restart();
  ASSERT_TRUE(create(topic("b", 2)));
  EXPECT_EQ(record("b"), "tablets from 1003");
  ASSERT_TRUE(remove("b"));
  cut_power();
  ASSERT_TRUE(create(topic("c", 1)));
  EXPECT_EQ(record("c"), "tablets from 1005");
  EXPECT_EQ(create(topic("c", 1)).error().code, Errc::kAlreadyExists);
  ASSERT_TRUE(create(topic("d", 1)));
  EXPECT_EQ(record("d"), "tablets from 1006") << "a create that fails takes none";
}

TEST_F(SchemeTest, ParentsAreMadeOnlyWhenAsked) {
  EXPECT_EQ(create(directory("a/b/c")).error().code, Errc::kNotFound);
  EXPECT_EQ(scheme_->size(), 0u);
  ASSERT_TRUE(create(directory("a/b/c", true)));
  ASSERT_TRUE(create(directory("a/b/d")));
  EXPECT_EQ(scheme_->list("a/b")->size(), 2u);
  ASSERT_TRUE(create(topic("a/t", 0)));
  EXPECT_EQ(create(directory("a/t/below", true)).error().code, Errc::kInvalidArgument);
}

TEST_F(SchemeTest, AlterReplacesTheRecordOfThisVeryNode) {
  const auto created = create(topic("a", 1));
  AlterNode request;
  request.path = "a";
  request.id = (*created)->id;
  request.tablets = 2;
  request.record = [](TabletId first) {
    return Slice::copy_of(fmt::format("grown by {}", first.value));
  };
  ASSERT_TRUE(world_.run(scheme_->alter(request)));
  restart();
  EXPECT_EQ(record("a"), "grown by 1001");
  EXPECT_EQ(scheme_->find("a")->id, (*created)->id);
  ASSERT_TRUE(remove("a"));
  ASSERT_TRUE(create(topic("a", 1)));
  EXPECT_EQ(world_.run(scheme_->alter(request)).error().code, Errc::kNotFound);
  EXPECT_EQ(record("a"), "tablets from 1003");
}

TEST_F(SchemeTest, AttributesAreThereAfterARestartAndAfterAPowerCut) {
  CreateNode request = topic("dir/t", 1);
  request.attributes = {{"a", text("1")}, {"b", text("2")}};
  ASSERT_TRUE(create(request));
  EXPECT_EQ(attributes("dir"), "") << "a parent gets none";
  restart();
  EXPECT_EQ(attributes("dir/t"), "a=1 b=2");
  const auto altered = set("dir/t", {{"a", std::nullopt}, {"b", text("3")}, {"c", text("")}});
  ASSERT_TRUE(altered) << altered.error().message();
  EXPECT_EQ((*altered)->attributes.size(), 2u);
  ASSERT_TRUE(set("dir", {{"owner", text("me")}}));
  cut_power();
  EXPECT_EQ(attributes("dir/t"), "b=3 c=");
  EXPECT_EQ(attributes("dir"), "owner=me");
  EXPECT_EQ(record("dir/t"), "tablets from 1000");
  ASSERT_TRUE(set("dir/t", {{"d", text("4")}, {"b", std::nullopt}, {"none", std::nullopt}}, true));
  restart();
  EXPECT_EQ(attributes("dir/t"), "d=4");
  ASSERT_TRUE(set("dir/t", {}, true));
  EXPECT_EQ(attributes("dir/t"), "");
}

TEST_F(SchemeTest, AChangeOfTheRecordKeepsTheAttributes) {
  CreateNode request = topic("a", 1);
  request.attributes = {{"x", text("1")}};
  const auto created = create(request);
  ASSERT_TRUE(created);
  AlterNode change;
  change.path = "a";
  change.id = (*created)->id;
  change.record = [](TabletId) { return text("altered"); };
  ASSERT_TRUE(world_.run(scheme_->alter(change)));
  restart();
  EXPECT_EQ(record("a"), "altered");
  EXPECT_EQ(attributes("a"), "x=1");
  EXPECT_EQ(scheme_->find("a")->id, (*created)->id);
}

TEST_F(SchemeTest, AttributesOfAMissingOrAnotherNodeAreNotChanged) {
  EXPECT_EQ(set("a", {{"x", text("1")}}).error().code, Errc::kNotFound);
  EXPECT_EQ(set("", {{"x", text("1")}}).error().code, Errc::kNotFound) << "the root is no node";
  const auto first = create(directory("a"));
  ASSERT_TRUE(first);
  ASSERT_TRUE(remove("a"));
  ASSERT_TRUE(create(directory("a")));
  AlterAttributes late;
  late.path = "a";
  late.id = (*first)->id;
  late.changes = {{"x", text("1")}};
  EXPECT_EQ(world_.run(scheme_->alter_attributes(late)).error().code, Errc::kNotFound);
  EXPECT_EQ(attributes("a"), "");
}

TEST_F(SchemeTest, AttributesPastALimitChangeNothing) {
  ASSERT_TRUE(create(directory("a")));
  ASSERT_TRUE(set("a", {{"x", text("1")}}));
  const std::string name(kAttributeNameBytesMax, 'n');
  const Slice large = Buffer::zeroed(kUserAttributesBytesMax - 2).freeze();
  Changes many;
  for (std::size_t i = 0; i < kUserAttributesMax; ++i) many[fmt::format("a{}", i)] = text("");
  for (const Changes& changes :
       {Changes{{"", text("1")}}, Changes{{name + "n", text("1")}}, Changes{{"y", large}}, many}) {
    EXPECT_EQ(set("a", changes).error().code, Errc::kInvalidArgument);
    EXPECT_EQ(attributes("a"), "x=1");
  }
  EXPECT_TRUE(set("a", many, true)) << "within the limit, as the others are removed";
  CreateNode request = directory("b");
  request.attributes = {{"", text("1")}};
  EXPECT_EQ(create(request).error().code, Errc::kInvalidArgument);
  restart();
  EXPECT_EQ(scheme_->find("a")->attributes.size(), kUserAttributesMax);
  EXPECT_FALSE(scheme_->find("b"));
}

TEST_F(SchemeTest, AnAttributeDoesNotKeepTheBytesOfItsRequest) {
  const Slice request = Buffer::zeroed(1u << 20).freeze();
  ASSERT_TRUE(create(directory("a")));
  ASSERT_TRUE(set("a", {{"x", request.sub(100, 3)}}));
  EXPECT_LT(scheme_->find("a")->attributes.at("x").held_bytes(), request.size());
}

TEST_F(SchemeTest, NodesStoredWithoutAttributesAreReadAndTakeSome) {
  stop();
  Encoder encoder;
  encoder.u8(1).u8(static_cast<std::uint8_t>(NodeKind::kTopic));
  encoder.raw(as_bytes("0123456789abcdef")).u64(77).sized("old").sized("its record");
  store("node/old", seal(std::move(encoder)));
  boot();
  ASSERT_TRUE(scheme_->find("old"));
  EXPECT_EQ(scheme_->find("old")->created_ms, 77u);
  EXPECT_EQ(record("old"), "its record");
  EXPECT_EQ(attributes("old"), "");
  ASSERT_TRUE(set("old", {{"x", text("1")}}));
  restart();
  EXPECT_EQ(record("old"), "its record");
  EXPECT_EQ(attributes("old"), "x=1");
}

TEST_F(SchemeTest, ADirectoryGoesOnlyWhenItIsEmpty) {
  ASSERT_TRUE(create(directory("a/b", true)));
  EXPECT_EQ(remove("a").error().code, Errc::kConflict);
  ASSERT_TRUE(remove("a/b"));
  ASSERT_TRUE(remove("a"));
  EXPECT_EQ(remove("a").error().code, Errc::kNotFound);
  restart();
  EXPECT_EQ(scheme_->size(), 0u);
}

TEST_F(SchemeTest, TabletsOfARemovedNodeStayOnTheListUntilTheyAreDeleted) {
  ASSERT_TRUE(create(topic("a", 2)));
  ASSERT_TRUE(remove("a", {TabletInfo::simple(TabletId{1'000}, kTestGroup, 3),
                           TabletInfo::simple(TabletId{1'001}, kTestGroup, 3)}));
  cut_power();
  EXPECT_FALSE(scheme_->find("a"));
  ASSERT_EQ(scheme_->pending_deletions().size(), 2u);
  EXPECT_EQ(scheme_->pending_deletions()[1].id, TabletId{1'001});
  ASSERT_TRUE(world_.run(scheme_->forget_deleted(TabletId{1'000})));
  restart();
  ASSERT_EQ(scheme_->pending_deletions().size(), 1u);
  EXPECT_EQ(scheme_->pending_deletions()[0].id, TabletId{1'001});
}

TEST_F(SchemeTest, OfTwoCreatesAtOnceExactlyOneSucceeds) {
  TaskScope scope;
  std::vector<Result<NodePtr>> outcomes(20);
  const auto one = [](Scheme& scheme, CreateNode request, Result<NodePtr>& out) -> Task<void> {
    out = co_await scheme.create(std::move(request));
  };
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    scope.spawn(one(*scheme_, topic(fmt::format("dir/t{}", i / 2), 1), outcomes[i]));
  }
  world_.run_for(5s);
  std::set<std::string> taken;
  for (std::size_t i = 0; i < outcomes.size(); i += 2) {
    EXPECT_TRUE(outcomes[i]);
    ASSERT_FALSE(outcomes[i + 1]);
    EXPECT_EQ(outcomes[i + 1].error().code, Errc::kAlreadyExists);
    taken.insert(record(fmt::format("dir/t{}", i / 2)));
  }
  EXPECT_EQ(taken.size(), 10u) << "every topic has a tablet of its own";
}

TEST_F(SchemeTest, BoundsHaveClearErrors) {
  CreateNode large = topic("large", 0);
  large.record = [](TabletId) { return Buffer::zeroed(kRecordBytesMax + 1).freeze(); };
  EXPECT_EQ(create(large).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(create(topic("many", kTabletsPerChangeMax + 1)).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(create(topic("a//b", 0)).error().code, Errc::kInvalidArgument);
  EXPECT_EQ(create(topic(std::string(kPathBytesMax + 1, 'a'), 0)).error().code,
            Errc::kInvalidArgument);
  EXPECT_EQ(scheme_->size(), 0u);
}

TEST_F(SchemeTest, PastTheBoundOfWaitingChangesTheAnswerIsOverloaded) {
  TaskScope scope;
  std::vector<Result<NodePtr>> outcomes(kSchemeChangesMax + 2);
  const auto one = [](Scheme& scheme, CreateNode request, Result<NodePtr>& out) -> Task<void> {
    out = co_await scheme.create(std::move(request));
  };
  // The first one takes a while, and the others wait for it.
  for (Result<NodePtr>& out : outcomes) {
    const bool first = &out == &outcomes.front();
    scope.spawn(one(*scheme_, topic(first ? "a" : "a//b", 0), out));
  }
  world_.run_for(1s);
  EXPECT_TRUE(outcomes.front());
  for (std::size_t i = 1; i < outcomes.size(); ++i) {
    const bool last = i + 1 == outcomes.size();
    ASSERT_EQ(outcomes[i].error().code, last ? Errc::kOverloaded : Errc::kInvalidArgument);
  }
}

TEST_F(SchemeTest, ManyNodesAreLoadedPageByPage) {
  for (int i = 0; i < 45; ++i) {
    CreateNode request = topic(fmt::format("d/t{}", i), 1);
    request.record = [](TabletId) { return Buffer::zeroed(200'000).freeze(); };
    ASSERT_TRUE(create(request));
  }
  restart();
  EXPECT_EQ(scheme_->list("d")->size(), 45u);
}

}  // namespace
}  // namespace moraine

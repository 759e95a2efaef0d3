// The tree of a simulated node, with values as text. For tests.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "node/test_node.h"
#include "scheme/object_id.h"
#include "yson/yson.h"

namespace moraine {

class TreeTest : public testing::Test {
 public:
  client::Tree& tree() { return node_.node().tree(); }
  void restart() { node_.restart(); }
  void cut_power() { node_.cut_power(); }

  template <class T>
  Result<T> run(std::function<Task<Result<T>>()> body) {
    return node_.on_lane<Result<T>>(1, std::move(body));
  }
  // "" or the message of the error.
  template <class T>
  static std::string outcome(const Result<T>& result) {
    return result ? "" : result.error().message();
  }
  static std::string shown(const Result<YsonNode>& value) {
    return value ? write_yson(*value, YsonFormat::kText) : value.error().message();
  }
  static YsonNode parse(const std::string& text) {
    auto value = parse_yson(text);
    INVARIANT(value, "{}", value.error().message());
    return std::move(*value);
  }
  client::TreeScope scope(std::optional<PathId> transaction = {}) {
    client::TreeScope made;
    made.transaction = transaction ? transaction : transaction_;
    return made;
  }

  std::string get(const std::string& path, std::vector<std::string> attributes = {},
                  std::optional<std::int64_t> max_size = {}) {
    client::TreeGet options{{false, std::move(attributes)}, max_size};
    return shown(run<YsonNode>([&] { return tree().get(scope(), path, options); }));
  }
  std::string list(const std::string& path, std::vector<std::string> attributes = {},
                   std::optional<std::int64_t> max_size = {}) {
    client::TreeGet options{{false, std::move(attributes)}, max_size};
    return shown(run<YsonNode>([&] { return tree().list(scope(), path, options); }));
  }
  bool exists(const std::string& path) {
    const auto found = run<bool>([&] { return tree().exists(scope(), path); });
    EXPECT_TRUE(found) << outcome(found);
    return found && *found;
  }
  std::string set(const std::string& path, const std::string& value, client::TreeSet options = {}) {
    return outcome(run<void>([&] { return tree().set(scope(), path, parse(value), options); }));
  }
  std::string set_once(client::MutationId mutation, const std::string& path,
                       const std::string& value) {
    client::TreeScope once = scope();
    once.mutation = mutation;
    return outcome(run<void>([&] { return tree().set(once, path, parse(value), {}); }));
  }
  std::string create(const std::string& type, const std::string& path,
                     const std::string& attributes = "{}", client::TreeCreate options = {}) {
    options.type = type;
    options.path = path;
    YsonNode map = parse(attributes);
    options.attributes = *map.as<YsonMap>();
    return outcome(run<PathId>([&] { return tree().create(scope(), options); }));
  }
  std::string remove(const std::string& path, bool recursive = true, bool force = false) {
    return outcome(run<void>([&] { return tree().remove(scope(), path, {recursive, force}); }));
  }
  std::string copy(const std::string& from, const std::string& to, client::TreeCopy options = {}) {
    return outcome(run<PathId>([&] { return tree().copy(scope(), from, to, options); }));
  }
  std::string move(const std::string& from, const std::string& to, client::TreeCopy options = {}) {
    options.move = true;
    return copy(from, to, options);
  }
  std::string link(const std::string& target, const std::string& path,
                   client::TreeLink options = {}) {
    return outcome(run<PathId>([&] { return tree().link(scope(), target, path, options); }));
  }
  std::string mount(const std::string& path) {
    return outcome(node_.on_lane<Result<void>>(
        0, [&] { return node_.node().tables().tables().mount(path, MountState::kMounted); }));
  }
  std::string tables() {
    std::string all;
    for (const std::string& path : node_.node().tables().tables().paths()) all += path + " ";
    return all;
  }

  PathId begin(client::TreeTransactionOptions options = {}) {
    const auto begun = run<PathId>([&] { return tree().begin({}, options); });
    EXPECT_TRUE(begun) << outcome(begun);
    return begun.value_or(PathId{});
  }
  PathId nested(const PathId& parent) {
    client::TreeTransactionOptions options;
    options.parent = parent;
    return begin(options);
  }
  std::string commit(const PathId& transaction) {
    return outcome(run<void>([&] { return tree().commit({}, transaction); }));
  }
  std::string abort(const PathId& transaction) {
    return outcome(run<void>([&] { return tree().abort({}, transaction, false); }));
  }
  std::string lock(const std::string& path, client::TreeLock options) {
    return outcome(run<client::TreeLocked>([&] { return tree().lock(scope(), path, options); }));
  }
  // What follows is called in the transaction, and outside of one after a call without it.
  TreeTest& in(std::optional<PathId> transaction = {}) {
    transaction_ = transaction;
    return *this;
  }
  void sleep(Duration time) {
    node_.on_lane<bool>(0, [&]() -> Task<bool> {
      co_await sleep_for(node_.lane(0), time);
      co_return true;
    });
  }

  TestNode node_{2};
  std::optional<PathId> transaction_;
};

}  // namespace moraine

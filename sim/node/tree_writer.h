// TreeWriter: an HTTP client with a directory of the tree that nobody else changes.
//
//   TreeWriter    changes it, outside of transactions and in several that are nested
//   TreeWatcher   reads directories of writers meanwhile
//
// Promise    Every change ends as the model says (node/test_tree_model.h): made, refused, or in
//            conflict with one of the writer's own transactions; every view that it reads is that
//            of the model. What a watcher sees is what was committed at some moment of its read,
//            and never older than what it saw before.
// Threading  Events of the scenario.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "node/test_tree_model.h"
#include "sim/node/http_stage.h"

namespace moraine::sim {

class TreeWriter {
 public:
  TreeWriter(HttpStage& stage, std::size_t number);

  const std::string& root() const { return root_; }
  Task<void> run();

  // What was read of the directory outside of transactions, by one reader in this order.
  struct Sight {
    Instant began;
    Instant ended;
    std::string text;
  };
  // Once the writer has ended. Fails the history unless there is a moment for every sight.
  void judge(const std::vector<Sight>& sights);
  // The directory as it is, through a lane of the server. False: no answer.
  Task<bool> check(HttpLink& link);

  // An answer to "get" with attributes, as to_text(ModelTree) has it.
  static std::string text_of(const std::string& root, const YsonNode& tree);
  static HttpRequest get_all(const std::string& root, const std::optional<PathId>& transaction);

 private:
  // The committed directory since a change that was acknowledged then.
  struct Version {
    Instant sent;
    Instant acknowledged;
    std::string text;
  };
  using Transaction = TreeModel::Transaction;

  Task<void> make_root();
  Task<void> step();
  Task<void> begin();
  Task<void> end();
  Task<void> lock();
  Task<void> carry_out(TreeModel::Plan plan, TreeCommand command, HttpRequest request);
  Task<void> look(Transaction transaction);
  bool expected(const TreeModel::Plan& plan, const HttpAnswer& answer);
  void note(Instant sent);
  Transaction some_transaction();
  std::string some_path();

  HttpStage& stage_;
  const std::string root_;
  HttpClient client_;
  TreeModel model_;
  std::vector<Version> versions_;
};

class TreeWatcher {
 public:
  // `writers` outlive the object.
  TreeWatcher(HttpStage& stage, std::vector<TreeWriter*> writers);

  Task<void> run();
  // Once all writers have ended.
  void judge();

 private:
  // A request that was sent and not answered.
  struct Asked {
    std::optional<std::size_t> writer;  // Its directory; nullopt: one of the numbers.
    std::int64_t number = 0;
    Instant began;
  };

  Task<bool> make_numbers();
  Task<void> ask_some();
  void take(const Asked& asked, const HttpAnswer& answer);

  HttpStage& stage_;
  const std::vector<TreeWriter*> writers_;
  HttpClient client_;
  std::vector<std::vector<TreeWriter::Sight>> sights_;  // By writer.
};

}  // namespace moraine::sim

#include "sim/tables/dependency_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace moraine::sim {
namespace {

enum class Kind : std::uint8_t { kWriteWrite, kWriteRead, kReadWrite };

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::kWriteWrite: return "ww";
    case Kind::kWriteRead: return "wr";
    case Kind::kReadWrite: return "rw";
  }
  return "";
}

struct Edge {
  std::size_t to = 0;
  Kind kind = Kind::kWriteWrite;
  std::uint64_t row = 0;
};

// One edge, or a dependency and the rw that follows it.
struct Step {
  std::size_t to = 0;
  std::string how;
};

class Graph {
 public:
  // With `locked_only`: only of transactions that lock their reads; other writers are skipped.
  Graph(const std::vector<CommittedTransaction>& history, bool locked_only) : history_(history) {
    edges_.resize(history.size());
    for (std::size_t i = 0; i < history.size(); ++i) {
      if (locked_only && !history[i].locks_reads) continue;
      for (const RowAccess& write : history[i].writes) writers_[write.row][write.version] = i;
    }
    for (const auto& [row, versions] : writers_) {
      for (auto at = versions.begin(), next = std::next(at); next != versions.end(); ++at, ++next) {
        add(at->second, {next->second, Kind::kWriteWrite, row});
      }
    }
    for (std::size_t i = 0; i < history.size(); ++i) {
      if (locked_only && !history[i].locks_reads) continue;
      for (const RowAccess& read : history[i].reads) add_read(i, read);
    }
  }

  std::optional<std::string> find_cycle(bool snapshot) {
    colours_.assign(edges_.size(), Colour::kWhite);
    for (std::size_t i = 0; i < edges_.size(); ++i) {
      if (colours_[i] != Colour::kWhite) continue;
      if (auto cycle = search(i, snapshot)) return cycle;
    }
    return std::nullopt;
  }

 private:
  enum class Colour : std::uint8_t { kWhite, kOnPath, kDone };
  struct Visit {
    std::size_t node = 0;
    std::vector<Step> steps;
    std::size_t next = 0;
  };

  void add(std::size_t from, Edge edge) {
    if (from != edge.to) edges_[from].push_back(edge);
  }
  void add_read(std::size_t reader, const RowAccess& read) {
    const auto found = writers_.find(read.row);
    if (found == writers_.end()) return;
    const auto later = found->second.upper_bound(read.version);
    if (later != found->second.end()) add(reader, {later->second, Kind::kReadWrite, read.row});
    if (later != found->second.begin()) {
      add(std::prev(later)->second, {reader, Kind::kWriteRead, read.row});
    }
  }
  std::string describe(std::size_t from, const Edge& edge) const {
    return fmt::format("{} -{} of row {:x}-> ", history_[from].name, name_of(edge.kind), edge.row);
  }

  std::vector<Step> steps(std::size_t from, bool snapshot) const {
    std::vector<Step> steps;
    for (const Edge& edge : edges_[from]) {
      if (!snapshot) {
        steps.push_back({edge.to, describe(from, edge)});
        continue;
      }
      if (edge.kind == Kind::kReadWrite) continue;
      steps.push_back({edge.to, describe(from, edge)});
      for (const Edge& second : edges_[edge.to]) {
        if (second.kind != Kind::kReadWrite) continue;
        steps.push_back({second.to, describe(from, edge) + describe(edge.to, second)});
      }
    }
    return steps;
  }

  std::optional<std::string> search(std::size_t from, bool snapshot) {
    std::vector<Visit> path;
    path.push_back({from, steps(from, snapshot), 0});
    colours_[from] = Colour::kOnPath;
    while (!path.empty()) {
      Visit& visit = path.back();
      if (visit.next == visit.steps.size()) {
        colours_[visit.node] = Colour::kDone;
        path.pop_back();
        continue;
      }
      const std::size_t to = visit.steps[visit.next++].to;
      if (colours_[to] == Colour::kOnPath) return describe_cycle(path, to);
      if (colours_[to] == Colour::kDone) continue;
      colours_[to] = Colour::kOnPath;
      path.push_back({to, steps(to, snapshot), 0});
    }
    return std::nullopt;
  }

  std::string describe_cycle(const std::vector<Visit>& path, std::size_t to) const {
    std::string text;
    bool within = false;
    for (const Visit& visit : path) {
      within = within || visit.node == to;
      if (within) text += visit.steps[visit.next - 1].how;
    }
    return text + fmt::format("{}", history_[to].name);
  }

  const std::vector<CommittedTransaction>& history_;
  std::map<std::uint64_t, std::map<std::size_t, std::size_t>> writers_;  // Row, version, index.
  std::vector<std::vector<Edge>> edges_;
  std::vector<Colour> colours_;
};

}  // namespace

std::optional<std::string> find_snapshot_cycle(const std::vector<CommittedTransaction>& history) {
  return Graph(history, false).find_cycle(true);
}

std::optional<std::string> find_locked_cycle(const std::vector<CommittedTransaction>& history) {
  return Graph(history, true).find_cycle(false);
}

}  // namespace moraine::sim

// explain(): a plan with its ranges and the filters that readers apply; analysed: what each step
// did. The fields are those of YTsaurus, without `key_trie`; `range_count`, `full_scan`,
// `pushed_filters`, `steps` and `statistics` are ours.

#include <fmt/format.h>

#include "client/select_run.h"
#include "query/ranges/infer.h"

namespace moraine::client {
namespace {

using query::PlanNode;

constexpr std::size_t kShownRangesMax = 100;
constexpr std::size_t kShownTextMax = 500;

std::string text_of(const Value& value) {
  return query::describe(query::make_literal(value, value.type()), {});
}

// As in `[1..5]`, `(1..5)`, `7`.
std::string text_of(const table::ValueInterval& interval) {
  if (interval.is_point()) return text_of(interval.from.value);
  return fmt::format("{}{}..{}{}", interval.from.after ? "(" : "[", text_of(interval.from.value),
                     interval.to.end ? std::string() : text_of(interval.to.value),
                     interval.to.after ? "]" : ")");
}

// As in `["a", 5, <max>]`.
std::string text_of(const query::KeyBound& bound) {
  std::string out;
  for (const Value& value : bound.prefix) out += (out.empty() ? "" : ", ") + text_of(value);
  const bool edge = bound.after || bound.prefix.empty();
  if (edge) out += fmt::format("{}{}", out.empty() ? "" : ", ", bound.after ? "<max>" : "<min>");
  return "[" + out + "]";
}

// Key columns of the first table that are equal to those of the table that is joined.
std::uint64_t common_key_prefix(const PlanNode& node) {
  const auto& join = std::get<query::Join>(node.step);
  const PlanNode* left = &node.inputs[0];
  while (!left->inputs.empty()) left = &left->inputs[0];
  const PlanNode* right = &node.inputs[1];
  while (!right->inputs.empty()) right = &right->inputs[0];
  const auto& from = std::get<query::Scan>(left->step);
  const auto& to = std::get<query::Scan>(right->step);
  std::uint64_t prefix = 0;
  const auto is_next = [&](std::size_t i) {
    const query::Expression& a = join.left_keys[i];
    const query::Expression& b = join.right_keys[i];
    return a.kind == query::ExpressionKind::kColumn && a.column < from.columns.size() &&
           from.columns[a.column] == prefix && b.kind == query::ExpressionKind::kColumn &&
           b.column < to.columns.size() && to.columns[b.column] == prefix;
  };
  for (std::size_t i = 0; i < join.left_keys.size() && prefix < join.key_prefix; ++i) {
    if (!is_next(i)) continue;
    ++prefix;
    i = static_cast<std::size_t>(-1);  // The next one may stand before.
  }
  return prefix;
}

class Explainer {
 public:
  explicit Explainer(SelectContext& context) : context_(context) {}

  Result<YsonNode> explain() {
    const PlanNode& root = context_.plan.root;
    const std::string text = query::describe(root);
    std::string_view left = text;
    TRY_VOID(add_steps(root, 0, left));
    YsonMap query;
    query.set("where_expression", where_);
    query.set("is_ordered_scan", is_ordered_);
    query.set("joins", YsonNode(std::move(joins_)));
    if (group_prefix_ > 0) query.set("common_prefix_with_primary_key", group_prefix_);
    query.set("ranges", YsonNode(std::move(ranges_)));
    query.set("range_count", context_.statistics.ranges);
    query.set("full_scan", query::scans_whole_table(root));
    query.set("pushed_filters", YsonNode(std::move(filters_)));
    query.set("steps", YsonNode(std::move(steps_)));
    YsonMap all;
    all.set("udf_registry_path", YsonNode("//tmp/udfs"));
    all.set("query", YsonNode(std::move(query)));
    add_stages(all);
    if (context_.options.analyze) all.set("statistics", statistics());
    return YsonNode(std::move(all));
  }

 private:
  // Lines of describe() are in the order of this walk.
  Result<void> add_steps(const PlanNode& node, std::size_t depth, std::string_view& text) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line.remove_prefix(std::min(line.size(), depth * 2));
    YsonMap step;
    step.set("depth", std::uint64_t{depth});
    const std::string_view shown = line.substr(0, line.find(" [", line.find(']')));
    step.set("step", shown);
    lines_[&node] = shown;
    const auto figures = context_.figures.find(&node);
    if (figures != context_.figures.end()) {
      step.set("rows", figures->second.rows);
      step.set("batches", figures->second.batches);
      step.set("time_us", std::int64_t{figures->second.time / 1us});
    }
    steps_.emplace_back(std::move(step));
    TRY_VOID(add_details(node));
    for (const PlanNode& input : node.inputs) {
      TRY_VOID(add_steps(input, depth + 1, text));
    }
    return {};
  }

  // What runs beside the readers of tablets, and what the caller does.
  void add_stages(YsonMap& all) const {
    const std::vector<query::Stage> stages = query::stages_of(context_.plan.root);
    YsonMap subqueries;
    YsonList top_steps;
    for (const query::Stage& stage : stages) {
      YsonList steps;
      if (stage.scan != nullptr) steps.emplace_back(lines_.at(stage.source));
      for (const PlanNode* step : stage.steps) steps.emplace_back(lines_.at(step));
      if (stage.end != nullptr) steps.emplace_back(lines_.at(stage.end));
      if (stage.scan == nullptr) {
        top_steps.insert(top_steps.end(), steps.begin(), steps.end());
        continue;
      }
      YsonMap below;
      below.set("is_ordered_scan", is_ordered_);
      below.set("steps", YsonNode(std::move(steps)));
      subqueries.set(stage.scan->path, YsonNode(std::move(below)));
    }
    YsonMap top;
    top.set("is_ordered_scan", is_ordered_);
    if (group_prefix_ > 0) top.set("common_prefix_with_primary_key", group_prefix_);
    top.set("steps", YsonNode(std::move(top_steps)));
    all.set("subqueries", YsonNode(std::move(subqueries)));
    all.set("top_query", YsonNode(std::move(top)));
  }

  Result<void> add_details(const PlanNode& node) {
    const auto* filter = std::get_if<query::Filter>(&node.step);
    if (filter != nullptr) {
      where_ = query::describe(filter->predicate, node.inputs[0].columns);
      predicate_ = &filter->predicate;
    }
    if (std::holds_alternative<query::Group>(node.step) ||
        std::holds_alternative<query::Order>(node.step)) {
      is_ordered_ = false;
    }
    if (const auto* group = std::get_if<query::Group>(&node.step)) {
      group_prefix_ = group->key_prefix;
    }
    if (std::holds_alternative<query::Join>(node.step)) add_join(node);
    if (const auto* join = std::get_if<query::ArrayJoin>(&node.step)) {
      YsonMap entry;
      entry.set("is_left", join->left);
      entry.set("arrays", std::uint64_t{join->lists.size()});
      YsonList group;
      group.emplace_back(std::move(entry));
      joins_.emplace_back(std::move(group));
    }
    if (const auto* scan = std::get_if<query::Scan>(&node.step)) {
      TRY_VOID(add_scan(*scan));
    }
    if (filter == nullptr) predicate_ = nullptr;
    return {};
  }

  // Each join is a group of its own: they run one after the other.
  void add_join(const PlanNode& node) {
    const auto& join = std::get<query::Join>(node.step);
    const bool whole = join.key_prefix == join.right_keys.size();
    YsonMap entry;
    entry.set("lookup_type", join.key_prefix == 0 ? "IN clause"
                             : whole              ? "source ranges"
                                                  : "prefix ranges");
    entry.set("common_key_prefix", common_key_prefix(node));
    entry.set("foreign_key_prefix", std::uint64_t{join.key_prefix});
    entry.set("is_left", join.left);
    YsonList group;
    group.emplace_back(std::move(entry));
    joins_.emplace_back(std::move(group));
  }

  Result<void> add_scan(const query::Scan& scan) {
    TRY(const ScanInput input, scan_input(context_, scan, predicate_));
    for (const table::ColumnCondition& condition : input.conditions) {
      std::string text = input.table->schema->columns[condition.column].name + " in";
      for (const table::ValueInterval& interval : condition.values.intervals()) {
        if (text.size() > kShownTextMax) break;
        text += " " + text_of(interval);
      }
      filters_.emplace_back(std::move(text));
    }
    if (!context_.options.analyze) context_.statistics.ranges += scan.ranges.size();
    for (const query::KeyRange& range : scan.ranges) {
      if (ranges_.size() == kShownRangesMax) break;
      YsonList bounds;
      bounds.emplace_back(text_of(range.from));
      bounds.emplace_back(text_of(range.to));
      ranges_.emplace_back(std::move(bounds));
    }
    return {};
  }

  YsonNode statistics() const {
    const SelectStatistics& from = context_.statistics;
    YsonMap map;
    map.set("rows_read", context_.control.rows_read());
    map.set("bytes_read", context_.control.bytes_read());
    map.set("rows_written", from.rows_written);
    map.set("rows_grouped", from.rows_grouped);
    map.set("memory_bytes", std::uint64_t{context_.control.memory_peak()});
    map.set("ranges", from.ranges);
    map.set("parts", from.parts);
    map.set("blocks_read", from.blocks_read);
    map.set("blocks_skipped", from.blocks_skipped);
    map.set("rows_merged", from.rows_merged);
    map.set("total_time_us", std::int64_t{from.total_time / 1us});
    return YsonNode(std::move(map));
  }

  SelectContext& context_;
  std::string where_;
  const query::Expression* predicate_ = nullptr;  // Of a filter right above.
  bool is_ordered_ = true;
  std::uint64_t group_prefix_ = 0;
  std::map<const PlanNode*, std::string> lines_;
  YsonList joins_;
  YsonList ranges_;
  YsonList filters_;
  YsonList steps_;
};

// Runs the query and drops its rows.
Task<Result<void>> analyze(SelectContext& context) {
  Executor& lane = *Executor::current();
  const Instant begun = lane.now();
  SelectRun run(context);
  CO_TRY_VOID(co_await run.run_all(context.plan.root));
  query::Batch rows;
  for (;;) {
    CO_TRY(const bool more, co_await run.next(rows));
    if (!more) break;
    context.statistics.rows_written += rows.rows;
  }
  run.report();
  context.statistics.total_time = lane.now() - begun;
  co_return Result<void>();
}

}  // namespace

Task<Result<YsonNode>> explain(TableClient& client, std::string query, SelectOptions options) {
  CO_TRY(const auto context, co_await open_select(client, query, std::move(options)));
  if (context->options.analyze) {
    CO_TRY_VOID(co_await analyze(*context));
  }
  co_return Explainer(*context).explain();
}

}  // namespace moraine::client

#include "query/model/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "query/function/list_items.h"
#include "query/model/aggregate.h"
#include "query/plan/evaluate.h"
#include "table/model/key.h"

namespace moraine::query {
namespace {

// Rows of a step; the totals are apart, since Order and Limit treat them in their own way.
struct Relation {
  std::vector<Row> rows;
  std::optional<Row> totals;
  bool totals_first = false;
};

std::vector<Row> with_totals(Relation relation) {
  if (relation.totals) {
    const auto place = relation.totals_first ? relation.rows.begin() : relation.rows.end();
    relation.rows.insert(place, std::move(*relation.totals));
  }
  return std::move(relation.rows);
}

// Less than 0: the key is below all keys that begin with the prefix; 0: it begins with it.
std::strong_ordering compare_prefix(std::span<const Value> key, const std::vector<Value>& prefix) {
  for (std::size_t i = 0; i < prefix.size() && i < key.size(); ++i) {
    const std::strong_ordering order = compare(key[i], prefix[i]);
    if (order != 0) return order;
  }
  return std::strong_ordering::equal;
}

bool lies_in(std::span<const Value> key, const KeyRange& range) {
  const auto from = compare_prefix(key, range.from.prefix);
  const auto to = compare_prefix(key, range.to.prefix);
  const bool above = from > 0 || (from == 0 && !range.from.after);
  const bool below = to < 0 || (to == 0 && range.to.after);
  return above && below;
}

class Runner {
 public:
  Runner(const TableRows& tables, const RunOptions& options, Rowset& result)
      : tables_(tables), options_(options), result_(result), texts_(*result.texts) {}

  Result<Relation> run(const PlanNode& node) {
    TRY(Relation relation,
        std::visit([&](const auto& step) { return apply(step, node); }, node.step));
    if (relation.rows.size() > kModelRowsMax) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("a step has more than {} rows", kModelRowsMax));
    }
    return relation;
  }

 private:
  Result<std::vector<Row>> input(const PlanNode& node, std::size_t i = 0) {
    TRY(Relation relation, run(node.inputs[i]));
    return with_totals(std::move(relation));
  }
  Result<Row> row_of(const std::vector<Expression>& expressions, const Row& row) {
    Row values;
    for (const Expression& expression : expressions) {
      TRY(const Value value, evaluate(expression, row, texts_));
      values.push_back(value);
    }
    return values;
  }

  Result<Relation> apply(const Scan& scan, const PlanNode&) {
    const auto found = tables_.find(scan.path);
    if (found == tables_.end()) {
      return fail(Errc::kNotFound, fmt::format("table \"{}\" has no rows here", scan.path));
    }
    const std::size_t keys = scan.schema->key_count();
    std::vector<const Row*> sorted;
    for (const Row& row : found->second) {
      const auto key = std::span(row).first(keys);
      const bool covered = std::ranges::any_of(
          scan.ranges, [&](const KeyRange& range) { return lies_in(key, range); });
      if (covered || !options_.use_ranges) sorted.push_back(&row);
    }
    std::ranges::sort(sorted, [&](const Row* a, const Row* b) {
      return table::encode_key(std::span(*a).first(keys)) <
             table::encode_key(std::span(*b).first(keys));
    });
    result_.rows_read += sorted.size();
    Relation relation;
    for (const Row* row : sorted) {
      Row values;
      for (const std::size_t column : scan.columns) values.push_back((*row)[column]);
      relation.rows.push_back(std::move(values));
    }
    return relation;
  }

  Result<Relation> apply(const Filter& filter, const PlanNode& node) {
    TRY(std::vector<Row> rows, input(node));
    Relation relation;
    for (Row& row : rows) {
      TRY(const bool passes, holds(filter.predicate, row, texts_));
      if (passes) relation.rows.push_back(std::move(row));
    }
    return relation;
  }

  Result<bool> keys_match(const Join& join, const Row& left, const Row& right) {
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (!join.null_equals_null && (left[i].is_null() || right[i].is_null())) return false;
      TRY(const std::strong_ordering order, order_of(left[i], right[i]));
      if (order != 0) return false;
    }
    return true;
  }

  Result<Relation> apply(const Join& join, const PlanNode& node) {
    TRY(const std::vector<Row> left, input(node, 0));
    TRY(const std::vector<Row> right, input(node, 1));
    std::vector<Row> right_keys;
    for (const Row& row : right) {
      TRY(Row key, row_of(join.right_keys, row));
      right_keys.push_back(std::move(key));
    }
    Relation relation;
    for (const Row& row : left) {
      TRY(const Row key, row_of(join.left_keys, row));
      bool matched = false;
      for (std::size_t i = 0; i < right.size(); ++i) {
        TRY(const bool matches, keys_match(join, key, right_keys[i]));
        if (!matches) continue;
        matched = true;
        relation.rows.push_back(row);
        relation.rows.back().insert(relation.rows.back().end(), right[i].begin(), right[i].end());
      }
      if (matched || !join.left) continue;
      relation.rows.push_back(row);
      relation.rows.back().resize(node.columns.size());
    }
    return relation;
  }

  // The items of each list, side by side.
  Result<std::vector<Row>> places_of(const ArrayJoin& join, const PlanNode& node, const Row& row) {
    TRY(const Row lists, row_of(join.lists, row));
    std::vector<Row> places;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      ListItems items(lists[i], node.columns[row.size() + i].type);
      Value item;
      for (std::size_t place = 0;; ++place) {
        TRY(const bool more, items.next(item, texts_));
        if (!more) break;
        if (place == kModelRowsMax) return fail(Errc::kInvalidArgument, "a list is too long");
        if (place == places.size()) places.emplace_back(lists.size());
        places[place][i] = item;
      }
    }
    return places;
  }

  Result<Relation> apply(const ArrayJoin& join, const PlanNode& node) {
    TRY(const std::vector<Row> rows, input(node));
    Relation relation;
    for (const Row& row : rows) {
      TRY(const std::vector<Row> places, places_of(join, node, row));
      bool matched = false;
      for (const Row& place : places) {
        Row joined = row;
        joined.insert(joined.end(), place.begin(), place.end());
        if (join.predicate) {
          TRY(const bool passes, holds(*join.predicate, joined, texts_));
          if (!passes) continue;
        }
        matched = true;
        relation.rows.push_back(std::move(joined));
      }
      if (matched || !join.left) continue;
      relation.rows.push_back(row);
      relation.rows.back().resize(node.columns.size());
    }
    return relation;
  }

  struct Members {
    Row key;
    std::vector<const Row*> rows;
  };
  Result<std::vector<Members>> groups_of(const Group& group, const std::vector<Row>& rows) {
    std::vector<Members> groups;
    for (const Row& row : rows) {
      TRY(Row key, row_of(group.keys, row));
      Members* mine = nullptr;
      for (Members& members : groups) {
        bool equal = true;
        for (std::size_t i = 0; i < key.size(); ++i) {
          TRY(const std::strong_ordering order, order_of(key[i], members.key[i]));
          equal = equal && order == 0;
        }
        if (equal) mine = &members;
      }
      if (mine == nullptr) {
        const bool has_null = std::ranges::any_of(key, &Value::is_null);
        if (has_null && group.totals != Totals::kNone) {
          return fail(Errc::kInvalidArgument, "Null values are forbidden in group key");
        }
        TRY_VOID(check_nan(key));
        groups.push_back({.key = std::move(key), .rows = {}});
        mine = &groups.back();
      }
      mine->rows.push_back(&row);
    }
    return groups;
  }
  static Result<void> check_nan(const Row& key) {
    for (const Value& value : key) {
      TRY_VOID(order_of(value, value));
    }
    return {};
  }

  Result<Row> group_row(const Group& group, const Row& key, std::span<const Row* const> rows) {
    Row row = key;
    for (const AggregateCall& call : group.aggregates) {
      TRY(const Value value, aggregate(call, rows, texts_));
      row.push_back(value);
    }
    return row;
  }

  Result<Relation> apply(const Group& group, const PlanNode& node) {
    TRY(const std::vector<Row> rows, input(node));
    TRY(const std::vector<Members> groups, groups_of(group, rows));
    Relation relation;
    std::vector<const Row*> counted;  // In the totals.
    for (const Members& members : groups) {
      TRY(Row row, group_row(group, members.key, members.rows));
      bool passes = true;
      if (group.having) {
        TRY(passes, holds(*group.having, row, texts_));
      }
      if (passes || group.totals == Totals::kBeforeHaving) {
        counted.insert(counted.end(), members.rows.begin(), members.rows.end());
      }
      if (passes) relation.rows.push_back(std::move(row));
    }
    if (group.totals != Totals::kNone && !counted.empty()) {
      std::ranges::sort(counted);  // In the order of the rows again.
      TRY(relation.totals, group_row(group, Row(group.keys.size()), counted));
    }
    return relation;
  }

  Result<Relation> apply(const Order& order, const PlanNode& node) {
    TRY(Relation relation, run(node.inputs[0]));
    struct Sorted {
      Row key;
      Row row;
      std::size_t number = 0;
    };
    std::vector<Sorted> sorted;
    for (Row& row : relation.rows) {
      Row key;
      for (const OrderKey& part : order.keys) {
        TRY(const Value value, evaluate(part.expression, row, texts_));
        key.push_back(value);
      }
      TRY_VOID(check_nan(key));
      sorted.push_back({.key = std::move(key), .row = std::move(row), .number = sorted.size()});
    }
    std::ranges::sort(sorted, [&](const Sorted& a, const Sorted& b) {
      for (std::size_t i = 0; i < order.keys.size(); ++i) {
        const std::strong_ordering part = compare(a.key[i], b.key[i]);
        if (part != 0) return order.keys[i].descending ? part > 0 : part < 0;
      }
      return a.number < b.number;
    });
    for (std::size_t i = 0; i < sorted.size(); ++i) relation.rows[i] = std::move(sorted[i].row);
    relation.totals_first = true;
    return relation;
  }

  Result<Relation> apply(const Limit& limit, const PlanNode& node) {
    TRY(Relation relation, run(node.inputs[0]));
    auto& rows = relation.rows;
    const std::uint64_t skipped = std::min<std::uint64_t>(limit.offset, rows.size());
    rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(skipped));
    if (rows.size() > limit.limit) rows.resize(limit.limit);
    return relation;
  }

  Result<Relation> apply(const Project& project, const PlanNode& node) {
    TRY(Relation relation, run(node.inputs[0]));
    for (Row& row : relation.rows) {
      TRY(row, row_of(project.columns, row));
    }
    if (relation.totals) {
      TRY(relation.totals, row_of(project.columns, *relation.totals));
    }
    return relation;
  }

  const TableRows& tables_;
  const RunOptions options_;
  Rowset& result_;
  table::TextMemory& texts_;
};

}  // namespace

Result<Rowset> run_plan(const Plan& plan, const TableRows& tables, const RunOptions& options) {
  Rowset result;
  result.columns = plan.root.columns;
  result.texts = std::make_shared<table::TextMemory>();
  TRY(Relation relation, Runner(tables, options, result).run(plan.root));
  result.rows = with_totals(std::move(relation));
  return result;
}

}  // namespace moraine::query

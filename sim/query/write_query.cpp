// Queries as texts.

#include <fmt/format.h>

#include <algorithm>

#include "sim/query/random_query.h"
#include "sim/query/sqlite.h"

namespace moraine::sim {
namespace {

using query::Totals;

template <class Items, class Write>
std::string list(const Items& items, const Write& write) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : ", ") + write(item);
  return out;
}

std::string join_yt(const QueryJoin& join, bool upper) {
  const auto word = [&](const char* small, const char* big) { return upper ? big : small; };
  std::string out = join.left ? word(" left", " LEFT") : "";
  if (!join.arrays.empty()) {
    out += word(" array join ", " ARRAY JOIN ");
    out += list(join.arrays, [&](const QueryItem& array) {
      return write_yt(array.term) + word(" as ", " AS ") + array.name;
    });
    if (join.predicate) out += std::string(word(" and ", " AND ")) + write_yt(*join.predicate);
    return out;
  }
  const std::string path = fmt::format("[//t{}]", join.table);
  out += fmt::format(
      " {} {}", word("join", "JOIN"),
      join.within ? "(select * from " + path + " where " + write_yt(*join.within) + ")" : path);
  if (join.is_using) {
    out += std::string(word(" using ", " USING ")) + list(join.right_keys, write_yt);
  } else {
    const bool tuple = join.left_keys.size() > 1;
    const char* const form = tuple ? " a{} {} ({}) = ({})" : " a{} {} {} = {}";
    out += fmt::format(fmt::runtime(form), join.table, word("on", "ON"),
                       list(join.left_keys, write_yt), list(join.right_keys, write_yt));
  }
  if (join.predicate) out += std::string(word(" and ", " AND ")) + write_yt(*join.predicate);
  return out;
}

// A row for each place that is below the number of items of a list.
std::string array_join_sql(const QueryJoin& join) {
  std::string out =
      fmt::format(" {0}JOIN places AS n{1} ON (", join.left ? "LEFT " : "", join.number);
  for (const QueryItem& array : join.arrays) {
    out += fmt::format("{}n{}.n < ifnull(json_array_length({}), 0)",
                       &array == join.arrays.data() ? "(" : " OR ", join.number,
                       write_sql(array.term));
  }
  out += ")";
  if (join.predicate) out += " AND " + write_sql(*join.predicate);
  return out + ")";
}

std::string join_sql(const QueryJoin& join, bool canonical) {
  if (!join.arrays.empty()) return array_join_sql(join);
  const std::string table = fmt::format("t{} AS a{}", join.table, join.table);
  std::string out =
      fmt::format(" {}JOIN {} ON (", join.left ? "LEFT " : "",
                  join.within ? fmt::format("(SELECT * FROM {} WHERE {}) AS a{}", table,
                                            write_sql(*join.within), join.table)
                              : table);
  for (std::size_t i = 0; i < join.left_keys.size(); ++i) {
    out += (i > 0 ? " AND " : "") + sql_relation("=", write_sql(join.left_keys[i]),
                                                 write_sql(join.right_keys[i]), canonical);
  }
  if (join.predicate) out += " AND " + write_sql(*join.predicate);
  return out + ")";
}

// FROM, joins, WHERE.
std::string rows_sql(const QueryCase& query) {
  std::string out =
      query.subquery.empty() ? " FROM t0 AS a0" : " FROM (" + query.subquery[0].sql() + ") AS a0";
  for (const QueryJoin& join : query.joins) out += join_sql(join, query.dialect.canonical_nulls);
  if (query.where) out += " WHERE " + write_sql(*query.where);
  return out;
}

// An integer here would be the number of a column.
std::string key_sql(const Term& term) {
  return "ifnull(" + write_sql(term) + ", NULL)";
}
std::string keys_sql(const QueryCase& query) {
  return list(query.group_by, [](const QueryItem& item) { return key_sql(item.term); });
}

}  // namespace

std::string QueryCase::yt() const {
  const auto word = [&](const char* small, const char* big) {
    return std::string(upper_case ? big : small);
  };
  const auto item = [&](const QueryItem& item) {
    return write_yt(item.term) + (item.name.empty() ? "" : word(" as ", " AS ") + item.name);
  };
  // From version 3 on a number is that of a projection.
  const auto key = [&](const Term& term) {
    const std::string text = write_yt(term);
    const bool is_number = text.find_first_not_of("0123456789") == std::string::npos;
    return dialect.syntax_version >= 3 && is_number ? "(" + text + " + 0)" : text;
  };
  std::string out = says_select ? word("select ", "SELECT ") : "";
  out += is_star ? "*" : list(projections, item);
  out += word(" from ", " FROM ");
  const std::string path = dialect.syntax_version >= 2 ? "`//t0`" : "[//t0]";
  out += subquery.empty() ? path : "(" + subquery[0].yt() + ")";
  if (has_aliases) out += word(" as ", " AS ") + "a0";
  for (const QueryJoin& join : joins) {
    std::string text = join_yt(join, upper_case);
    if (dialect.syntax_version >= 2 && join.arrays.empty()) {
      const std::size_t from = text.find("[//t");
      text[from] = '`';
      text[text.find(']', from)] = '`';
    }
    out += text;
  }
  if (where) out += word(" where ", " WHERE ") + write_yt(*where);
  if (!group_by.empty()) {
    out += word(" group by ", " GROUP BY ");
    out += numbers_groups ? "1" : list(group_by, [&](const QueryItem& item) {
      return key(item.term) + (item.name.empty() ? "" : word(" as ", " AS ") + item.name);
    });
  }
  if (totals == Totals::kBeforeHaving) out += word(" with totals", " WITH TOTALS");
  if (having) out += word(" having ", " HAVING ") + write_yt(*having);
  if (totals == Totals::kAfterHaving) out += word(" with totals", " WITH TOTALS");
  if (!order_by.empty()) {
    out += word(" order by ", " ORDER BY ") + list(order_by, [&](const QueryOrder& order) {
             return key(order.term) + (order.descending ? word(" desc", " DESC") : "");
           });
  }
  if (offset) out += word(" offset ", " OFFSET ") + std::to_string(*offset);
  if (limit) out += word(" limit ", " LIMIT ") + std::to_string(*limit);
  return out;
}

std::string QueryCase::sql() const {
  const auto item = [](const QueryItem& item) {
    return write_sql(item.term) + (item.name.empty() ? "" : " AS " + sql_name(item.name));
  };
  std::string out = "SELECT " + list(projections, item) + rows_sql(*this);
  if (!group_by.empty()) out += " GROUP BY " + keys_sql(*this);
  if (having) out += " HAVING " + write_sql(*having);
  if (!order_by.empty()) {
    out += " ORDER BY " + list(order_by, [](const QueryOrder& order) {
             return key_sql(order.term) + (order.descending ? " DESC" : "");
           });
  } else if (!key_order.empty()) {
    out += " ORDER BY " + list(key_order, [](const std::string& key) { return key; });
  }
  if (limit) out += fmt::format(" LIMIT {} OFFSET {}", *limit, offset.value_or(0));
  return out;
}

std::string QueryCase::totals_sql() const {
  if (totals == Totals::kNone) return "";
  std::string rows = rows_sql(*this);
  if (totals == Totals::kAfterHaving && having) {
    // Rows of the groups that passed.
    rows += fmt::format(" {} ({}) IN (SELECT {}{} GROUP BY {} HAVING {})", where ? "AND" : "WHERE",
                        keys_sql(*this), keys_sql(*this), rows_sql(*this), keys_sql(*this),
                        write_sql(*having));
  }
  std::string columns;
  std::string names;
  for (const QueryItem& item : projections) {
    const std::string name = fmt::format("c{}", std::ranges::count(names, ',') + 1);
    names += name + ", ";
    columns += fmt::format("{} AS {}, ", write_sql(item.term, /*totals=*/true), name);
  }
  names.resize(names.size() - 2);
  return fmt::format("SELECT {} FROM (SELECT {}count(*) AS n{}) WHERE n > 0", names, columns, rows);
}

}  // namespace moraine::sim

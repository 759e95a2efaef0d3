#include "bench/query/rows.h"

#include <fmt/format.h>

#include <array>

#include "bench/tables/rows.h"

namespace moraine::bench {
namespace {

constexpr std::uint64_t kLinesPerOrder = 4;
constexpr std::uint64_t kOrdersPerCustomer = 10;
constexpr std::int64_t kFirstDay = 8'036;  // 1992-01-01.
constexpr std::int64_t kDays = 2'405;

// Small numbers are likely.
std::uint64_t skewed(Dice& dice, std::uint64_t bound) {
  return dice.below(dice.below(dice.below(bound) + 1) + 1);
}

std::vector<Value> view_row(std::uint64_t number, std::string& memory) {
  Dice dice(number * 977 + 1);
  const std::uint64_t user = Dice::mix(skewed(dice, 2'000'000) + 7) >> 1;
  const std::uint64_t phrase = dice.below(100) < 6 ? skewed(dice, 50'000) + 1 : 0;
  const std::uint64_t host = skewed(dice, 5'000);
  memory = fmt::format("http://{}{}.example/{}/page{}?from={}", host % 50 == 3 ? "google" : "site",
                       host, dice.below(40), dice.below(3'000), dice.below(9));
  const std::size_t address = memory.size();
  if (phrase != 0) memory += fmt::format("search for number {}", phrase);
  const std::string_view all = memory;
  const std::int64_t time = 1'372'636'800 + static_cast<std::int64_t>(dice.below(31 * 86'400));
  return {static_cast<std::int64_t>(number / kViewsPerCounter),
          static_cast<std::int64_t>(number),
          static_cast<std::int64_t>(user),
          static_cast<std::int64_t>(skewed(dice, 9'000)),
          static_cast<std::int64_t>(dice.below(20) == 0 ? dice.below(60) : 0),
          static_cast<std::int64_t>(800 + dice.below(12) * 100),
          time,
          all.substr(address),
          all.substr(0, address)};
}

std::vector<Value> line_row(std::uint64_t number, std::string&) {
  Dice dice(number * 1'009 + 5);
  Dice order(number / kLinesPerOrder * 31 + 2);
  const std::int64_t ordered = kFirstDay + static_cast<std::int64_t>(order.below(kDays));
  const std::int64_t shipped = ordered + 1 + static_cast<std::int64_t>(dice.below(121));
  const auto quantity = static_cast<std::int64_t>(1 + dice.below(50));
  constexpr std::int64_t kToday = 9'298;  // 1995-06-17.
  static constexpr std::array<std::string_view, 7> kModes{"AIR", "RAIL",  "MAIL",   "SHIP",
                                                          "FOB", "TRUCK", "REG AIR"};
  return {static_cast<std::int64_t>(number / kLinesPerOrder),
          static_cast<std::int64_t>(number % kLinesPerOrder),
          quantity,
          quantity * static_cast<std::int64_t>(90'000 + dice.below(110'000)),
          static_cast<std::int64_t>(dice.below(11)),
          static_cast<std::int64_t>(dice.below(9)),
          shipped,
          std::string_view(shipped > kToday     ? "N"
                           : dice.below(2) == 0 ? "R"
                                                : "A"),
          std::string_view(shipped > kToday ? "O" : "F"),
          kModes[dice.below(kModes.size())]};
}

std::vector<Value> order_row(std::uint64_t number, std::string&) {
  Dice dice(number * 31 + 2);
  const std::int64_t ordered = kFirstDay + static_cast<std::int64_t>(dice.below(kDays));
  return {static_cast<std::int64_t>(number),
          static_cast<std::int64_t>(dice.below(number / kOrdersPerCustomer + 1)), ordered,
          static_cast<std::int64_t>(dice.below(2))};
}

std::vector<Value> customer_row(std::uint64_t number, std::string&) {
  static constexpr std::array<std::string_view, 5> kSegments{"AUTOMOBILE", "BUILDING", "FURNITURE",
                                                             "HOUSEHOLD", "MACHINERY"};
  return {static_cast<std::int64_t>(number), kSegments[Dice::mix(number + 3) % kSegments.size()]};
}

struct Named {
  std::string_view name;
  ColumnType type = ColumnType::kInt64;
};
TableSchema schema_of(std::size_t keys, std::initializer_list<Named> columns) {
  TableSchema schema;
  for (const Named& column : columns) {
    ColumnSchema made;
    made.name = column.name;
    made.type = column.type;
    made.key = schema.columns.size() < keys;
    made.required = true;
    schema.columns.push_back(std::move(made));
  }
  return schema;
}

}  // namespace

std::vector<BenchTable> bench_tables(std::uint64_t rows) {
  constexpr ColumnType kText = ColumnType::kString;
  return {
      {"hits",
       schema_of(2, {{"counter"},
                     {"id"},
                     {"user_id"},
                     {"region"},
                     {"engine"},
                     {"width"},
                     {"event_time"},
                     {"phrase", kText},
                     {"url", kText}}),
       rows, view_row},
      {"lineitem",
       schema_of(2, {{"orderkey"},
                     {"line"},
                     {"quantity"},
                     {"price"},
                     {"discount"},
                     {"tax"},
                     {"shipdate"},
                     {"flag", kText},
                     {"status", kText},
                     {"mode", kText}}),
       rows, line_row},
      {"orders", schema_of(1, {{"orderkey"}, {"custkey"}, {"orderdate"}, {"priority"}}),
       rows / kLinesPerOrder, order_row},
      {"customer", schema_of(1, {{"custkey"}, {"segment", kText}}),
       rows / kLinesPerOrder / kOrdersPerCustomer, customer_row},
  };
}

const std::vector<BenchQuery>& bench_queries() {
  static const std::vector<BenchQuery> queries{
      {"count_filter", "sum(1) as c from [//hits] where engine != 0 group by 1",
       "select count(*) from hits where engine <> 0"},
      {"sums", "sum(engine) as a, sum(1) as b, avg(width) as c from [//hits] group by 1",
       "select sum(engine), count(*), avg(width) from hits"},
      {"distinct_users", "uniq(user_id) as c from [//hits] group by 1",
       "select count(distinct user_id) from hits"},
      {"group_small",
       "engine, sum(1) as c from [//hits] where engine != 0 group by engine order by c desc, "
       "engine limit 20",
       "select engine, count(*) as c from hits where engine <> 0 group by engine order by c desc, "
       "engine limit 20"},
      {"group_region",
       "region, sum(engine) as a, sum(1) as c, avg(width) as w from [//hits] group by region "
       "order by c desc, region limit 10",
       "select region, sum(engine), count(*) as c, avg(width) from hits group by region order by c "
       "desc, region limit 10"},
      {"group_user",
       "user_id, sum(1) as c from [//hits] group by user_id order by c desc, user_id limit 10",
       "select user_id, count(*) as c from hits group by user_id order by c desc, user_id limit "
       "10"},
      {"group_phrase",
       "phrase, sum(1) as c from [//hits] where phrase != '' group by phrase order by c desc, "
       "phrase limit 10",
       "select phrase, count(*) as c from hits where phrase <> '' group by phrase order by c desc, "
       "phrase limit 10"},
      {"group_user_phrase",
       "user_id, phrase, sum(1) as c from [//hits] group by user_id, phrase order by c desc, "
       "user_id, phrase limit 10",
       "select user_id, phrase, count(*) as c from hits group by user_id, phrase order by c desc, "
       "user_id, phrase limit 10"},
      {"like", "sum(1) as c from [//hits] where url like '%google%' group by 1",
       "select count(*) from hits where url like '%google%'"},
      {"top_times",
       "phrase, event_time from [//hits] where phrase != '' order by event_time, phrase limit 10",
       "select phrase, event_time from hits where phrase <> '' order by event_time, phrase limit "
       "10"},
      {"group_url", "url, sum(1) as c from [//hits] group by url order by c desc, url limit 10",
       "select url, count(*) as c from hits group by url order by c desc, url limit 10"},
      {"tpch_q1",
       "flag, status, sum(quantity) as a, sum(price) as b, sum(price * (100 - discount)) as c, "
       "sum(price * (100 - discount) * (100 + tax)) as d, avg(quantity) as e, avg(price) as f, "
       "avg(discount) as g, sum(1) as n from [//lineitem] where shipdate <= 10471 group by flag, "
       "status order by flag, status limit 10",
       "select flag, status, sum(quantity), sum(price), sum(price * (100 - discount)), sum(price * "
       "(100 - discount) * (100 + tax)), avg(quantity), avg(price), avg(discount), count(*) from "
       "lineitem where shipdate <= 10471 group by flag, status order by flag, status limit 10"},
      {"tpch_q3",
       "l.orderkey as k, sum(l.price * (100 - l.discount)) as r, o.orderdate as d, o.priority as p "
       "from [//lineitem] as l join [//orders] as o on l.orderkey = o.orderkey join [//customer] "
       "as c on o.custkey = c.custkey where c.segment = 'BUILDING' and o.orderdate < 9204 and "
       "l.shipdate > 9204 group by l.orderkey, o.orderdate, o.priority order by r desc, d, k limit "
       "10",
       "select l.orderkey, sum(l.price * (100 - l.discount)) as r, o.orderdate, o.priority from "
       "customer c, orders o, lineitem l where c.segment = 'BUILDING' and c.custkey = o.custkey "
       "and l.orderkey = o.orderkey and o.orderdate < 9204 and l.shipdate > 9204 group by "
       "l.orderkey, o.orderdate, o.priority order by r desc, o.orderdate, l.orderkey limit 10"},
      {"tpch_q6",
       "sum(price * discount) as r from [//lineitem] where shipdate >= 8766 and shipdate < 9131 "
       "and discount between 5 and 7 and quantity < 24 group by 1",
       "select sum(price * discount) from lineitem where shipdate >= 8766 and shipdate < 9131 and "
       "discount between 5 and 7 and quantity < 24"},
  };
  return queries;
}

}  // namespace moraine::bench

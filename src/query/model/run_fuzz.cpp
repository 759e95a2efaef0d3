// Any bytes as a query on small tables: rejected, or run with equal results with key ranges and
// without.

#include <cstddef>
#include <cstdint>

#include "expression/farm_hash.h"
#include "query/model/test_run.h"
#include "query/plan/test_tables.h"

namespace {

// As the table //h computes its key column.
moraine::Value hash_of(const moraine::Value& value) {
  return moraine::farm_hash({&value, 1}) % 8;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  using namespace moraine::query;
  static const TableRows tables = {
      {"//q", {{Value(), 1}, {-1, Value()}, {0, 5}, {1, 1}, {2, 7}}},
      {"//l", {{1, 10}, {2, 20}, {3, Value()}}},
      {"//r", {{20, 200}, {Value(), 7}}},
      {"//t",
       {{1, 1, std::uint64_t{1}, 0.5, true, "x", Value::any("{a=1;b=[1u;#;x]}"), Value()},
        {Value(), Value(), Value(), Value(), Value(), Value(), Value(), 5},
        {4, 2, std::uint64_t{2}, 1.5, false, "yz", Value::any("[1;[2.5;x];%true]"), 6}}},
      {"//h", {{hash_of(Value()), Value(), "v"}, {hash_of(5), 5, "w"}}}};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const BindOptions options{.syntax_version = size % 2 == 0 ? 1 : 2,
                            .expression_builder_version = 2,
                            .canonical_null_relations = size % 3 == 0};
  auto plan = plan_query(text, test_schemas(), options);
  if (!plan) return 0;
  add_ranges(*plan);
  if (describe(plan->root).empty()) __builtin_trap();
  const auto ranged = run_plan(*plan, tables);
  const auto whole = run_plan(*plan, tables, {.use_ranges = false});
  // Without ranges, rows outside of them may raise errors.
  if (whole && !ranged) __builtin_trap();
  if (whole && text_of(whole->rows) != text_of(ranged->rows)) __builtin_trap();
  return 0;
}

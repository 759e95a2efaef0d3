// Any bytes as an expression: rejected, or evaluated to a value of its type or to an error.

#include <cstddef>
#include <cstdint>

#include "expression/expression.h"

namespace {

moraine::TableSchema fuzz_schema() {
  using moraine::ColumnType;
  moraine::TableSchema schema;
  schema.columns = {{.name = "i", .type = ColumnType::kInt64, .key = true},
                    {.name = "u", .type = ColumnType::kUint64, .key = true},
                    {.name = "d", .type = ColumnType::kDouble, .key = true},
                    {.name = "b", .type = ColumnType::kBoolean, .key = true},
                    {.name = "s", .type = ColumnType::kString, .key = true}};
  return schema;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace moraine;
  static const TableSchema schema = fuzz_schema();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto compiled = compile_expression(text, schema);
  if (!compiled) return 0;
  const Value rows[][5] = {{}, {-5, std::uint64_t{7}, 0.5, false, "text"}};
  for (const auto& columns : rows) {
    const auto value = compiled->evaluate(columns);
    if (value && !value->is_null() && value->type() != compiled->type()) __builtin_trap();
  }
  return 0;
}

// Parsing never crashes; what it accepts is valid and round-trips through YAML.
#include "base/invariant.h"
#include "blob/cluster_config.h"

using namespace moraine::blob;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto bytes = parse_size(text)) {
    INVARIANT(parse_size(print_size(*bytes)) == *bytes, "{} is not itself", print_size(*bytes));
  }
  const auto config = parse_cluster_config(text);
  if (!config) return 0;
  INVARIANT(check(*config).has_value(), "an unsound config was parsed");
  (void)warnings(*config);
  const std::string yaml = to_yaml(*config);
  INVARIANT(parse_cluster_config(yaml).has_value(), "does not parse again:\n{}", yaml);
  return 0;
}

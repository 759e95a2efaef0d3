#include "base/invariant.h"

#include <cstdio>
#include <cstdlib>

namespace moraine {

void invariant_failed(const char* condition, const std::string& why, std::source_location at) {
  fmt::print(stderr, "INVARIANT {} at {}:{}: {}\n", condition, at.file_name(), at.line(), why);
  std::fflush(stderr);
  std::abort();
}

}  // namespace moraine

// Upkeep: maintenance of tables while others write to them.
//
// Threading  One thread. Each step ends with the table mounted, unless the program is killed.
#pragma once

#include "crash/tables/writer.h"

namespace moraine::crash {

class Upkeep {
 public:
  Upkeep(Database& database, ReportWriter& reports, std::uint64_t seed)
      : database_(database), reports_(reports), random_(seed) {}

  // One random step on one random table; an error is reported as a violation.
  void step();

 private:
  Result<void> flush(std::uint32_t table);
  Result<void> compact(std::uint32_t table);
  Result<void> freeze(std::uint32_t table);
  Result<void> remount(std::uint32_t table);
  // Unmounts, changes, mounts.
  Result<void> move(std::uint32_t table);
  Result<void> change_unmounted(std::uint32_t table);
  Result<void> reshard(const std::string& path);
  Result<void> alter(std::uint32_t table);
  Result<void> reformat(std::uint32_t table);

  Database& database_;
  ReportWriter& reports_;
  SeededRandom random_;
  std::string doing_;
};

}  // namespace moraine::crash

// The crash campaign of tables: a program that embeds the database is killed round after round.
#pragma once

#include <cstdint>
#include <string>

namespace moraine::crash {

struct TablesCampaignOptions {
  std::uint32_t rounds = 100;  // Kills.
  std::string binary;          // moraine_crash itself: the program under test is its worker.
  std::string folder;          // Exists and is empty.
  std::uint64_t seed = 1;      // Of the load and of the times of the kills.
};

// 0: nothing was lost, half-applied or wrong. 1: something was. 2: the program could not be run.
int run_tables_campaign(const TablesCampaignOptions& options);

}  // namespace moraine::crash

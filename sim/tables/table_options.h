// What varies from seed to seed in the tables campaign.
#pragma once

#include <optional>
#include <vector>

#include "moraine/table_options.h"
#include "sim/cluster.h"
#include "sim/history.h"
#include "sim/tables/table_rows.h"
#include "table/tablet/seeded_bug.h"

namespace moraine::sim {

struct TableOptions {
  TableLayout layout;
  // True: one node at a time serves all tables, with all services; tables are resharded and
  // altered. False: several nodes serve them, tablet by tablet.
  bool one_owner = false;
  std::vector<table::TabletSettings> settings;   // By table; each tablet has its own bounds.
  std::vector<moraine::TableOptions> of_tables;  // The same with one owner.
  Duration changes_every = 2s;                   // Of tables.
  std::size_t row_cache_bytes = 1u << 20;
  std::size_t block_cache_bytes = 1u << 20;
  std::size_t workers = 6;
  Duration think_max = 100ms;
  Duration boots_every = 4s;  // At most; races for the lead.
  Duration maintenance_every = 1s;
  Duration jumps_every = 5s;  // Of clocks.
  std::chrono::milliseconds jump_max{20'000};
  std::optional<Duration> versions_stay;  // nullopt: all, as long as the run.
};

// The wall clock of some client node, by up to jump_max in either direction.
void jump_some_clock(Cluster& cluster, History& history, SeededRandom& random,
                     const TableOptions& options);

}  // namespace moraine::sim

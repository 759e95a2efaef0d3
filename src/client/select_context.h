// What all parts of one selection share. Internal to select.h.
//
// Threading  Immutable while parts run, except for `control`.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/select.h"
#include "query/execute/control.h"
#include "query/execute/flow.h"
#include "query/plan/plan.h"

namespace moraine::client {

struct SelectContext {
  SelectContext(TableClient& its_client, SelectOptions its_options,
                const query::QueryLimits& limits)
      : client(its_client), options(std::move(its_options)), control(limits) {}

  TableClient& client;
  const SelectOptions options;
  query::QueryControl control;
  Timestamp timestamp = 0;
  std::map<std::string, std::shared_ptr<const Table>, std::less<>> tables;  // By path.
  std::vector<Executor*> lanes;                                             // Not empty.
  query::Plan plan;
  table::TextMemory texts;  // Of ranges that are found while it runs.
  // Figures of steps, for `explain`; filled when parts end, on the lane of the caller.
  std::map<const query::PlanNode*, query::StepFigures> figures;
  SelectStatistics statistics;
};

// Plans the query at a timestamp. Its placeholders are needed until then only.
Task<Result<std::unique_ptr<SelectContext>>> open_select(TableClient& client,
                                                         const std::string& query,
                                                         SelectOptions options);

}  // namespace moraine::client

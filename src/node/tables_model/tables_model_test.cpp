// The same programs under many options: the answers are those of a simple model, and equal.
#include <gtest/gtest.h>

#include <cstdlib>

#include "io/sim/switched_on.h"
#include "node/tables_model/model_run_reads.h"
#include "node/tables_model/option_sets.h"
#include "node/tables_model/program_maker.h"
#include "table/tablet/seeded_bug.h"

namespace moraine {
namespace {

constexpr std::size_t kSteps = 250;
constexpr std::size_t kStepsShown = 25;
constexpr std::uint64_t kBugSeedsMax = 20;

std::string describe(const RowStep& row) {
  static constexpr std::string_view kActs[] = {"insert",       "update",        "delta",
                                               "shared delta", "delete",        "lock weak",
                                               "lock strong",  "lock exclusive"};
  std::string text = fmt::format(" {} #{}", kActs[static_cast<std::size_t>(row.act)], row.key);
  for (const auto& [name, cell] : row.cells) text += fmt::format(" {}={}", name, text_of(cell));
  return text;
}

std::string describe(const ProgramStep& step) {
  std::string text(name_of(step.kind));
  for (const RowStep& row : step.rows) text += describe(row) + ";";
  for (const RowStep& row : step.later) text += " later" + describe(row) + ";";
  for (const std::size_t key : step.keys) text += fmt::format(" #{}", key);
  for (const std::string& column : step.columns) text += " " + column;
  for (const FilterStep& filter : step.filters) {
    text += fmt::format(" filter({} {} {})", filter.column, static_cast<int>(filter.op),
                        text_of(filter.value));
  }
  if (step.advance.count() > 0) text += fmt::format(" {} s", step.advance.count());
  return text;
}

std::string describe(const TableSchema& schema) {
  std::string text;
  for (const ColumnSchema& column : schema.columns) {
    text += fmt::format(
        "{} {}{}{}{}{}; ", column.name, to_string(column.type), column.key ? " key" : "",
        column.required ? " required" : "",
        column.aggregate == Aggregate::kNone ? "" : fmt::format(" {}", to_string(column.aggregate)),
        column.max_inline_hunk_size ? fmt::format(" hunk {}", *column.max_inline_hunk_size) : "");
  }
  return text;
}

// The prefix that ends with the step that went wrong; what is before its last steps is counted.
std::string failing_prefix(const Program& program, std::size_t failed) {
  std::string text = fmt::format("seed {}, a prefix of {} steps; schema {}\n", program.seed,
                                 failed + 1, describe(program.schema));
  const std::size_t first = failed < kStepsShown ? 0 : failed + 1 - kStepsShown;
  for (std::size_t i = first; i <= failed; ++i) {
    text += fmt::format("  {}: {}\n", i, describe(program.steps[i]));
  }
  return text;
}

class TablesModel : public testing::TestWithParam<std::uint64_t> {};

TEST_P(TablesModel, EveryOptionSetGivesTheAnswersOfTheModel) {
  const Program program = ProgramMaker(GetParam()).make(kSteps);
  std::vector<std::string> answers;
  for (const OptionSet& set : option_sets()) {
    ModelRun run(program, set.options);
    ASSERT_EQ(run.wrong, "") << set.name << ", seed " << program.seed;
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const std::string answer = run.step(program.steps[i]);
      ASSERT_EQ(run.wrong, "") << "options \"" << set.name << "\"\n" << failing_prefix(program, i);
      if (answers.size() == i) answers.push_back(answer);
      ASSERT_EQ(answer, answers[i]) << "options \"" << set.name << "\" answer otherwise than \""
                                    << option_sets().front().name << "\"\n"
                                    << failing_prefix(program, i);
    }
  }
}

// Whether the model sees the bug in this program.
bool sees(table::SeededBug bug, const Program& program, const OptionSet& set) {
  const SwitchedOn on(bug);
  ModelRun run(program, set.options);
  for (const ProgramStep& step : program.steps) {
    run.step(step);
    if (!run.wrong.empty()) return true;
  }
  return false;
}

class TablesModelBugs : public testing::TestWithParam<table::SeededBug> {};

TEST_P(TablesModelBugs, TheModelSeesThem) {
  for (std::uint64_t seed = 1; seed <= kBugSeedsMax; ++seed) {
    const Program program = ProgramMaker(seed).make(kSteps);
    for (const OptionSet& set : option_sets()) {
      if (sees(GetParam(), program, set)) return;
    }
  }
  FAIL() << to_string(GetParam()) << " was not seen in " << kBugSeedsMax << " programs";
}

INSTANTIATE_TEST_SUITE_P(Seeded, TablesModelBugs,
                         testing::Values(table::SeededBug::kConflictForgottenAtFlush,
                                         table::SeededBug::kTombstoneDroppedEarly,
                                         table::SeededBug::kRowCacheNotUpdated,
                                         table::SeededBug::kFoldPastSnapshot,
                                         table::SeededBug::kLockGroupIgnored,
                                         table::SeededBug::kDeletedUnheard));

// MORAINE_MODEL_SEED=n: that one alone.
std::vector<std::uint64_t> seeds() {
  if (const char* one = std::getenv("MORAINE_MODEL_SEED")) {
    return {std::strtoull(one, nullptr, 10)};
  }
  return {1, 2, 3, 4, 5, 6, 7, 8};
}

INSTANTIATE_TEST_SUITE_P(Seeds, TablesModel, testing::ValuesIn(seeds()));

}  // namespace
}  // namespace moraine

// moraine_crash: kills the real program under load, repeatedly, and checks what was lost.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <filesystem>

#include "crash/campaign.h"
#include "crash/tables/worker.h"

int main(int argc, char** argv) {
  namespace crash = moraine::crash;
  std::signal(SIGPIPE, SIG_IGN);
  crash::CampaignOptions options;
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
  options.binary = (self.parent_path() / "moraine").string();
  std::string erasure = "none";
  CLI::App app("Kills `moraine serve` with SIGKILL under load and verifies what was acknowledged");
  app.add_option("--rounds", options.rounds, "Kills")->capture_default_str();
  app.add_option("--binary", options.binary, "The program")->capture_default_str();
  app.add_option("--erasure", erasure,
                 "none: one process; block-4-2: 4 processes of 2 disks; mirror-3-dc: 3 of 3")
      ->capture_default_str();
  app.add_flag("--topics", options.topics,
               "Kafka producers and a consumer group instead of blobs; one process");
  app.add_flag("--tables", options.tables,
               "Transactions on tables instead of blobs; one process that embeds the database");
  crash::WorkerOptions worker;
  app.add_option("--tables-worker", worker.folder, "Runs that process on this folder")->group("");
  app.add_option("--first-id", worker.first_id, "Of its transactions")->group("");
  app.add_option("--folder", options.folder, "Where the data goes (default: a temporary folder)");
  app.add_option("--seed", options.seed, "Seed of the load and of the times of the kills");
  app.footer("Exit codes: 0 nothing lost, 1 something lost, 2 could not run.");
  CLI11_PARSE(app, argc, argv);
  if (!worker.folder.empty()) {
    worker.seed = options.seed;
    return crash::run_tables_worker(worker);
  }
  options.self = self.string();
  const auto species = moraine::blob::parse_species(erasure);
  if (!species) return app.exit(CLI::ValidationError("--erasure", species.error().context));
  options.species = *species;
  if ((options.topics || options.tables) && options.species != moraine::blob::Species::kNone) {
    return app.exit(CLI::ValidationError("--erasure", "topics and tables run one process"));
  }
  if (options.topics && options.tables) {
    return app.exit(CLI::ValidationError("--tables", "one load at a time: no --topics"));
  }
  return crash::run_campaign(options);
}

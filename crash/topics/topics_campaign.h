// The crash campaign of topics: clients that run continuously, a server that is killed round after
// round.
#pragma once

#include <cstdint>
#include <string>

namespace moraine::crash {

struct TopicsCampaignOptions {
  std::uint32_t rounds = 100;  // Kills.
  std::string binary;
  std::string folder;              // Exists and is empty.
  std::uint64_t seed = 1;          // Of the load and of the times of the kills.
  std::uint32_t check_every = 10;  // Rounds between two reads of everything.
};

// 0: nothing was lost, doubled or skipped. 1: something was. 2: the program could not be run, or
// made no progress.
int run_topics_campaign(const TopicsCampaignOptions& options);

}  // namespace moraine::crash

// The crash campaign: load, kill -9, restart, verify; round after round.
#pragma once

#include <cstdint>
#include <string>

#include "blob/group/geometry.h"

namespace moraine::crash {

struct CampaignOptions {
  std::uint32_t rounds = 100;
  std::string binary;
  std::string folder;  // Empty: a temporary one, removed after success.
  blob::Species species = blob::Species::kNone;
  std::uint64_t seed = 0;  // 0: random.
  bool topics = false;     // Messages instead of blobs.
  bool tables = false;     // Transactions on tables instead of blobs.
  std::string self;        // This program; tables start it as their worker.
};

// 0: nothing was lost. 1: something was. 2: the program could not be run.
int run_campaign(const CampaignOptions& options);

}  // namespace moraine::crash

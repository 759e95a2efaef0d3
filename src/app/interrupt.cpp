#include "app/interrupt.h"

namespace moraine::app {
namespace {

volatile std::sig_atomic_t came = 0;

void note(int) {
  came = 1;
}

}  // namespace

InterruptWatch::InterruptWatch() {
  came = 0;
  struct sigaction action{};
  action.sa_handler = note;
  // No SA_RESTART: a blocking call must return and check the flag.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &interrupt_before_);
  sigaction(SIGTERM, &action, &terminate_before_);
}

InterruptWatch::~InterruptWatch() {
  sigaction(SIGINT, &interrupt_before_, nullptr);
  sigaction(SIGTERM, &terminate_before_, nullptr);
}

bool interrupt_came() {
  return came != 0;
}

}  // namespace moraine::app

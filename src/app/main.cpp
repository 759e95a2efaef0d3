#include "app/cli.h"

int main(int argc, char** argv) {
  return moraine::app::run_cli(argc, argv);
}

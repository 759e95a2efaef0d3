#include "io/sync.h"

// Coroutines (moraine/task.h).
#pragma once

#include "moraine/task.h"

#pragma once

#include "towerflow/towerflow.h"

/// The name under which TensorFlow programs know it.
namespace tf = towerflow;

#pragma once

#include "towerflow/towerflow.h"

/// The namespace name of TensorFlow programs.
namespace tf = towerflow;

#pragma once

/// Marks what the plug-in exports. All else is hidden, so that its access hooks, which have the
/// names of ThreadSanitizer's, are never taken for those of a program.
#define TOWERFLOW_CUDA_VISIBLE __attribute__((visibility("default")))

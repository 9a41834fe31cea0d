#pragma once

/// Include this instead of tf.h to define ops, kernels, backends, optimizers and rewrite rules; see
/// docs/extend.md.
#include "core/device/backend_registry.h"
#include "core/device/cpu/cpu_backend.h"
#include "core/device/cpu/launch.h"
#include "core/graph/export_form.h"
#include "core/graph/op_builder.h"
#include "core/graph/op_def.h"
#include "core/graph/rewrite.h"
#include "ops/fusion.h"
#include "towerflow/tf.h"

#pragma once

#include "core/graph/scopes.h"

namespace towerflow::parallel {

/// Returns a device function that places more towers than there are devices on these in turn: what
/// asks for "/gpu:5" gets "/gpu:1" if `num_devices` is 2. Other requests stay. Open it around the
/// loop over the towers:
///
///   const auto turns = tf::device(tf::parallel::devices_in_turn(2));
///
/// The graph does not depend on `num_devices` otherwise, and neither do the results: each tower
/// computes the same numbers on any device, and its gradient has the same place in the average.
///
/// errors   ValueError: less than one device
DeviceFunction devices_in_turn(int num_devices, Site site = Site::current());

}  // namespace towerflow::parallel

"""Runs programs under mpirun, for the tests of several processes."""

import os
import shutil
import subprocess
import time

# The build has the plug-in where it found Open MPI's headers.
PLUGIN = os.environ.get("PROCESS_PLUGIN")
MPIRUN = shutil.which("mpirun") if PLUGIN else None
WITHOUT_MPIRUN = "Open MPI is not installed: scripts/setup --ci installs it"
LIMIT = 60  # seconds, for mpirun as a whole: a test that hangs fails


def run_ranks(ranks, program, options=()):
    """Runs `program`, a list, in `ranks` processes. Returns what subprocess.run does, and seconds."""
    command = [MPIRUN, "--oversubscribe", "-n", str(ranks), *options, *program]
    if os.geteuid() == 0:
        command.insert(1, "--allow-run-as-root")
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False,
                          env={**os.environ, "LD_LIBRARY_PATH": os.path.dirname(PLUGIN)})
    return done, time.monotonic() - start

#!/usr/bin/env node
// Starts the binary of the platform's package with the arguments, the streams and the signals of this process.
"use strict";

const { spawn } = require("node:child_process");

const name = `memory-engine-cli-${process.platform}-${process.arch}`;
const executable = process.platform === "win32" ? "memory.exe" : "memory";

let binary;
try {
  binary = require.resolve(`${name}/bin/${executable}`);
} catch {
  console.error(
    `memory-engine-cli: the package ${name} is not installed. Install memory-engine-cli again without ` +
      "--no-optional; if there is no such package, this platform needs a build from source."
  );
  process.exit(1);
}

const child = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`memory-engine-cli: ${binary} cannot be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exit(code);
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});

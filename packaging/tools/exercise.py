"""Uses an installed command as a user does: version, demo, server, health check, backup. Each fault is a Failure."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request

from project import version

# A generous limit: CI runs on busy cores, with a debug build.
TIME_LIMIT = 300


class Failure(Exception):
    """A package does not work."""


def expect(condition, message):
    if not condition:
        raise Failure(message)


class Installed:
    """An installed command, the folder it is run in, and its environment."""

    def __init__(self, command, folder, path, environment=()):
        self.command = [str(part) for part in command]
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        # Nothing of this machine's configuration: no variables, no home, no cargo.
        self.environment = {"PATH": path, "HOME": str(self.folder), "TZ": "UTC", **dict(environment)}

    def run(self, *arguments, code=0, **variables):
        """Runs the command, and returns what it prints."""
        result = subprocess.run(
            [*self.command, *arguments], cwd=self.folder, env=self.environment | variables, timeout=TIME_LIMIT,
            stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True, encoding="utf-8",
        )
        shown = f"memory {' '.join(arguments)}: exit code {result.returncode} instead of {code}"
        expect(result.returncode == code, f"{shown}\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
        return result.stdout

    @contextlib.contextmanager
    def server(self, *arguments, **variables):
        """Runs `memory serve`, on a free port unless MEMORY_LISTEN is set. Yields its address and its process id; stops
        it with TERM."""
        listen = [] if "MEMORY_LISTEN" in variables else ["--listen", "127.0.0.1:0"]
        process = subprocess.Popen(
            [*self.command, "serve", *listen, *arguments], cwd=self.folder, env=self.environment | variables,
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        lines = []
        try:
            address = None
            for line in process.stderr:
                lines.append(line)
                if found := re.search(r"listening on (http://[0-9.:]+)", line):
                    address = found[1]
                    break
            expect(address, f"memory serve did not start:\n{''.join(lines)}")
            # The log is read on, so that the server never waits for its reader.
            reader = threading.Thread(target=lambda: lines.extend(process.stderr), daemon=True)
            reader.start()
            yield address, process.pid
            process.send_signal(signal.SIGTERM)
            code = process.wait(TIME_LIMIT)
            reader.join(TIME_LIMIT)
            expect(code == 0 and "stopped" in "".join(lines), f"TERM: exit code {code}\n{''.join(lines)}")
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()


def request(url, data=None, key=None):
    """Sends a request, and returns the status and the text of the response."""
    headers = {"Content-Type": "application/json"} | ({"X-API-Key": key} if key else {})
    body = None if data is None else json.dumps(data).encode()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(urllib.request.Request(url, body, headers), timeout=TIME_LIMIT) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def check_version_and_demo(memory):
    shown = memory.run("--version").strip()
    expect(shown == f"memory {version()}", f"memory --version prints '{shown}'")
    before = set(os.listdir(memory.folder))
    demo = memory.run("demo")
    expect("found by" in demo and "海鲜过敏" in demo and "Next steps" in demo, f"memory demo prints:\n{demo}")
    expect(set(os.listdir(memory.folder)) == before, "memory demo leaves files behind")


def check_server(memory):
    """Starts the server, stores a memory over HTTP and finds it. Returns the names of the metrics."""
    with memory.server("--db", "server.db") as (address, _):
        expect(memory.run("health", "--url", address) == "ok\n", "memory health does not print ok")
        message = {"messages": [{"role": "user", "content": "I am allergic to walnuts."}], "user_id": "lin"}
        status, text = request(f"{address}/memories", message)
        expect(status == 200, f"POST /memories: {status} {text}")
        status, text = request(f"{address}/search", {"query": "walnuts", "user_id": "lin"})
        expect(status == 200 and "walnuts" in text, f"POST /search: {status} {text}")
        status, metrics = request(f"{address}/metrics")
        expect(status == 200, f"GET /metrics: {status}")
    memory.run("health", "--url", address, code=1)
    return set(re.findall(r"^# TYPE (\S+)", metrics, re.MULTILINE))


def check_backup(memory):
    """Exports a store, imports it into another one, and finds the memory there."""
    memory.run("add", "The spare key is with Mo", "--user", "lin", "--db", "first.db")
    memory.run("export", "--db", "first.db", "--output", "backup.jsonl")
    memory.run("import", "backup.jsonl", "--db", "second.db")
    found = memory.run("search", "spare key", "--user", "lin", "--db", "second.db")
    expect("The spare key is with Mo" in found, f"the restored store lacks the memory:\n{found}")


def check_all(memory):
    """Checks everything. Returns the seconds it took, and the names of the server's metrics."""
    started = time.monotonic()
    check_version_and_demo(memory)
    metrics = check_server(memory)
    check_backup(memory)
    return time.monotonic() - started, metrics

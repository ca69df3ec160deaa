"""Runs `memory-bench` and `by_hand.py` in turns against one Postgres, and prints a table of both."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

import psycopg

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
QUERY_KINDS = ["vec_all", "vec_org", "vec_scope", "vec_time", "kw_all", "kw_scope", "hyb_all", "hyb_scope", "insert_one"]


def run(command, arguments, phase, scratch, extra):
    output = scratch / "metrics.json"
    options = {"data": arguments.data, "n": arguments.n, "dim": arguments.dim, "phase": phase, "json": output,
               "metric-cap-s": arguments.seconds, "dsn": os.environ["DATABASE_URL"]} | extra
    command = [*command, *(text for name, value in options.items() for text in (f"--{name}", str(value)))]
    subprocess.run(command, check=True)
    answer = json.loads(output.read_text(encoding="utf-8"))
    if answer["errors"]:
        raise SystemExit(f"{command[0]}: {answer['errors']}")
    return answer["metrics"]


def checkpoint():
    """After a checkpoint, the server logs a page as a whole at its first change. Without one, the side that was loaded
    last has most of its pages in the log already, and its inserts write less."""
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        connection.execute("CHECKPOINT")


def median(rounds, name):
    return statistics.median(metrics[name] for metrics in rounds)


def main():
    parser = argparse.ArgumentParser(prog="bench-postgres")
    parser.add_argument("--n", type=int, default=10_000, help="number of records")
    parser.add_argument("--dim", type=int, default=384, help="number of dimensions")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5, help="maximum time for each kind of query and round")
    parser.add_argument("--data", type=pathlib.Path, help="a folder with data instead of generated ones")
    parser.add_argument("--binary", type=pathlib.Path, required=True, help="the program memory-bench")
    arguments = parser.parse_args()
    scratch = ROOT / "target" / "bench-postgres"
    scratch.mkdir(parents=True, exist_ok=True)
    if arguments.data is None:
        arguments.data = scratch / f"data-{arguments.n}-{arguments.dim}"
        if not (arguments.data / "manifest.json").exists():
            import data
            data.write(arguments.data, arguments.n, arguments.dim)
    engine = [str(arguments.binary)], {"backend": "postgres", "store": scratch / "unused"}
    by_hand = [sys.executable, str(FOLDER / "by_hand.py")], {}
    sides = [engine, by_hand]
    ingests = [run(command, arguments, "ingest", scratch, extra) for command, extra in sides]
    rounds = [[], []]
    for number in range(arguments.rounds):
        phase = "query+insert" if number == arguments.rounds - 1 else "query"
        for (command, extra), results in zip(sides, rounds):
            # The other phase only reads.
            if phase == "query+insert":
                checkpoint()
            results.append(run(command, arguments, phase, scratch, extra))
    print(f"{arguments.n} records of {arguments.dim} dimensions, {arguments.rounds} rounds\n")
    print("| | this engine, p50 (p10) ms | by hand, p50 (p10) ms | ratio of p50 | ratio of p10 | recall@10 or hit |")
    print("|---|---|---|---|---|---|")
    for kind in QUERY_KINDS:
        # Inserts are only in the last round.
        last = slice(-1, None) if kind == "insert_one" else slice(None)
        p50, p10 = ([median(results[last], f"{kind}_{name}_ms") for results in rounds] for name in ("p50", "p10"))
        name = f"{kind}_recall10" if kind.startswith("vec") else f"{kind}_hit10"
        quality = [f"{median(results, name):.3f}" if name in results[0] else "" for results in rounds]
        print(f"| {kind.replace('_', ' ')} | {p50[0]:.2f} ({p10[0]:.2f}) | {p50[1]:.2f} ({p10[1]:.2f}) "
              f"| {p50[0] / p50[1]:.2f} | {p10[0] / p10[1]:.2f} | {' / '.join(quality).strip(' /')} |")
    rates = [metrics["ingest_batch_rps"] for metrics in ingests]
    print(f"\nBatches: {rates[0]:.0f} records per second, by hand {rates[1]:.0f} ({rates[0] / rates[1]:.2f})")


if __name__ == "__main__":
    main()

"""The workload of `memory-bench`, with SQL as an expert in pgvector would write it. Takes the same arguments.

One table; HNSW, `tsvector` over words that are already split, `ts_rank`, and one statement per query. A hybrid query
fuses both lists by reciprocal ranks.
"""

import argparse
import json
import pathlib
import struct
import time

import numpy as np
import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types import TypeInfo

BATCH = 1000
CANDIDATES = 50
INSERTS = 200
MIN_QUERIES = 10
LOAD_SETTINGS = ["maintenance_work_mem='2GB'", "max_parallel_maintenance_workers=2"]
QUERY_SETTINGS = ["hnsw.ef_search=100", "hnsw.iterative_scan=relaxed_order", "jit=off", "work_mem='64MB'"]
INDEXES = [
    "ALTER TABLE by_hand.mem ADD PRIMARY KEY (id)",
    "CREATE INDEX ON by_hand.mem (scope, ts)",
    "CREATE INDEX ON by_hand.mem (ts)",
    "CREATE INDEX ON by_hand.mem USING gin (tsv)",
    "CREATE INDEX ON by_hand.mem USING hnsw (embedding vector_cosine_ops) WITH (m = 16, ef_construction = 64)",
    "VACUUM ANALYZE by_hand.mem",
]
COLUMNS = ["id", "scope", "org", "ts", "kind", "text", "tokens", "embedding"]
HYBRID = """
    WITH v AS (SELECT id, row_number() OVER () AS rank FROM (SELECT id FROM by_hand.mem WHERE {condition}
               ORDER BY embedding <=> %(vector)s::vector LIMIT {candidates}) x),
         t AS (SELECT id, row_number() OVER () AS rank FROM (SELECT id FROM by_hand.mem,
               to_tsquery('simple', %(words)s) q WHERE tsv @@ q AND {condition}
               ORDER BY ts_rank(tsv, q) DESC LIMIT {candidates}) x),
         f AS (SELECT id, sum(1.0 / (60 + rank)) AS score FROM (SELECT * FROM v UNION ALL SELECT * FROM t) u GROUP BY id
               ORDER BY score DESC LIMIT 10)
    SELECT id, text FROM f JOIN by_hand.mem USING (id) ORDER BY score DESC"""
STATEMENTS = {
    "vec": "SELECT id, text FROM by_hand.mem WHERE {condition} ORDER BY embedding <=> %(vector)s::vector LIMIT 10",
    "kw": "SELECT id, text FROM by_hand.mem, to_tsquery('simple', %(words)s) q WHERE tsv @@ q AND {condition} "
          "ORDER BY ts_rank(tsv, q) DESC LIMIT 10",
    "hyb": HYBRID,
}
CONDITIONS = {
    "all": "true",
    "org": "org = %(org)s",
    "scope": "scope = %(scope)s",
    "time": "ts BETWEEN %(t_from)s AND %(t_to)s",
}
KINDS = ["vec_all", "vec_org", "vec_scope", "vec_time", "kw_all", "kw_scope", "hyb_all", "hyb_scope"]


class VectorDumper(Dumper):
    """The binary form of pgvector."""

    format = Format.BINARY

    def dump(self, value):
        return struct.pack(">HH", len(value), 0) + value.astype(">f4").tobytes()


def connect(dsn, settings):
    connection = psycopg.connect(dsn, autocommit=True)
    for setting in ["random_page_cost=1.1", *settings]:
        connection.execute(f"SET {setting}")
    vector = TypeInfo.fetch(connection, "vector")
    vector.register(connection)
    connection.adapters.register_dumper(np.ndarray, type("Dumper", (VectorDumper,), {"oid": vector.oid}))
    return connection


def read_lines(path, first, count):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for number, line in enumerate(file) if first <= number < first + count]


def ingest(arguments, metrics):
    connection = connect(arguments.dsn, LOAD_SETTINGS)
    connection.execute("CREATE SCHEMA by_hand")
    connection.execute(f"""CREATE TABLE by_hand.mem (id int, scope text, org text, ts bigint, kind text, text text,
        tokens text, tsv tsvector GENERATED ALWAYS AS (to_tsvector('simple', tokens)) STORED,
        embedding vector({arguments.dim}))""")
    records = read_lines(arguments.data / "records.jsonl", 0, arguments.n)
    vectors = np.load(arguments.data / f"vectors_d{arguments.dim}.npy")
    started = time.perf_counter()
    for first in range(0, arguments.n, BATCH):
        with connection.cursor().copy(
            f"COPY by_hand.mem ({', '.join(COLUMNS)}) FROM STDIN (FORMAT binary)"
        ) as copy:
            copy.set_types(["int4", "text", "text", "int8", "text", "text", "text", "vector"])
            for record in records[first:first + BATCH]:
                copy.write_row([*(record[column] for column in COLUMNS[:-1]), vectors[record["id"]]])
    for index in INDEXES:
        connection.execute(index)
    metrics["ingest_batch_rps"] = arguments.n / (time.perf_counter() - started)


def recall(arguments, kind, found):
    name = "all" if kind == "org" else kind
    exact = np.load(arguments.data / f"gold_{name}_n{arguments.n}_d{arguments.dim}.npy")
    shares = [len(set(ids) & set(row[row >= 0])) / max(1, (row >= 0).sum()) for ids, row in zip(found, exact)]
    return float(np.mean(shares))


def query(arguments, metrics):
    connection = connect(arguments.dsn, QUERY_SETTINGS)
    queries = read_lines(arguments.data / f"queries_n{arguments.n}.jsonl", 0, 200)
    vectors = np.load(arguments.data / f"q_n{arguments.n}_d{arguments.dim}.npy")
    for entry, vector in zip(queries, vectors):
        entry["vector"] = vector
        entry["words"] = " | ".join("'" + word.replace("'", "") + "'" for word in dict.fromkeys(entry["tokens"].split()))
    for kind in KINDS:
        retriever, part = kind.split("_")
        sql = STATEMENTS[retriever].format(condition=CONDITIONS[part], candidates=CANDIDATES)
        deadline = time.perf_counter() + arguments.metric_cap_s
        times, found = [], []
        for number, entry in enumerate(queries[-3:] + queries):
            started = time.perf_counter()
            rows = connection.execute(sql, entry, prepare=True).fetchall()
            if number >= 3:
                times.append(time.perf_counter() - started)
                found.append([row[0] for row in rows])
            if len(times) >= MIN_QUERIES and time.perf_counter() > deadline:
                break
        for name, percentile in [("p50", 50), ("p95", 95), ("p10", 10)]:
            metrics[f"{kind}_{name}_ms"] = float(np.percentile(times, percentile)) * 1e3
        metrics[f"{kind}_hit10"] = float(np.mean([entry["target"] in ids for entry, ids in zip(queries, found)]))
        if retriever == "vec":
            metrics[f"{kind}_recall10"] = recall(arguments, part, found)
    return connection


def insert(arguments, connection, metrics):
    first = json.loads((arguments.data / "manifest.json").read_text())["n_max"]
    vectors = np.load(arguments.data / f"vectors_d{arguments.dim}.npy", mmap_mode="r")
    sql = f"INSERT INTO by_hand.mem ({', '.join(COLUMNS)}) VALUES ({', '.join(['%s'] * len(COLUMNS))})"
    times = []
    for record in read_lines(arguments.data / "records.jsonl", first, INSERTS):
        values = [*(record[column] for column in COLUMNS[:-1]), np.asarray(vectors[record["id"]])]
        started = time.perf_counter()
        connection.execute(sql, values, prepare=True)
        times.append(time.perf_counter() - started)
    for name, percentile in [("p50", 50), ("p95", 95), ("p10", 10)]:
        metrics[f"insert_one_{name}_ms"] = float(np.percentile(times, percentile)) * 1e3


def main():
    parser = argparse.ArgumentParser()
    for name, kind in [("data", pathlib.Path), ("n", int), ("dim", int), ("phase", str), ("json", pathlib.Path),
                       ("dsn", str), ("metric-cap-s", float)]:
        parser.add_argument(f"--{name}", type=kind, required=True)
    arguments = parser.parse_args()
    metrics = {}
    if arguments.phase == "ingest":
        ingest(arguments, metrics)
    else:
        connection = query(arguments, metrics)
        if arguments.phase == "query+insert":
            insert(arguments, connection, metrics)
    arguments.json.write_text(json.dumps({"metrics": metrics, "errors": {}}), encoding="utf-8")


if __name__ == "__main__":
    main()

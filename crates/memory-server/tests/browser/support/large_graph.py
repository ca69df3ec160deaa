"""The answer of the server for a graph of which only a part is shown."""

NODES, TOTAL = 500, 1234


def large_graph():
    ids = [f"{number:032x}" for number in range(NODES)]
    node = {"kind": "person", "aliases": [], "mentions": 1, "degree": 3, "hops": 0}
    nodes = [{"id": id, "name": f"Entity {number}", **node} for number, id in enumerate(ids)]
    pairs = {tuple(sorted((number, number * step % NODES))) for number in range(1, NODES) for step in (0, 3, 7)}
    edges = [{"source": ids[one], "relation": "knows", "target": ids[other], "records": 1, "valid_from": None,
              "valid_until": None} for one, other in sorted(pairs) if one != other]
    return {"nodes": nodes, "edges": edges, "total_entities": TOTAL, "total_relations": len(edges), "records": 900,
            "has_extractor": True}

"""The metrics in docs/reference/metrics.md, compared with the alert rules, the dashboard and the source."""

import re

from project import ROOT

PAGE = ROOT / "docs" / "reference" / "metrics.md"
# What Prometheus adds to the name of a histogram, and what it records itself for each target.
SUFFIXES = ("_bucket", "_sum", "_count")
OF_PROMETHEUS = {"up": {"job", "instance"}}
OF_EVERY_SERIES = {"job", "instance"}
# Functions, operators and modifiers of PromQL that the rules and the dashboard use.
WORDS = {
    "and", "by", "clamp_min", "histogram_quantile", "increase", "le", "max", "min_over_time", "on", "or", "rate",
    "sum", "unless", "without", "topk",
}


def rows():
    """Returns the metrics of the page, as name to (kind, labels)."""
    pattern = re.compile(r"^\| `([a-z_]+)` \| (counter|gauge|histogram[^|]*?) \|([^|]*)\|", re.MULTILINE)
    # Prometheus has a label `job` of its own, and renames that of a metric.
    labels = lambda cell: {"exported_job" if name == "job" else name for name in re.findall(r"`([a-z_]+)`", cell)}
    return {m[1]: (m[2], labels(m[3])) for m in pattern.finditer(PAGE.read_text())}


def documented():
    """Returns the names of the metrics."""
    return set(rows())


def faults_of(expression):
    """Returns what is wrong with a PromQL expression: unknown metrics, labels and functions."""
    metrics = rows()
    faults = []
    known = set(OF_EVERY_SERIES) | {"le"}
    without_texts = re.sub(r'"[^"]*"', '""', expression)
    selectors = re.findall(r"([a-z_:]+)\s*\{([^}]*)\}", without_texts)
    bare = re.sub(r"\{[^}]*\}", " ", without_texts)
    grouped = re.findall(r"\b(?:by|without|on)\s*\(([^)]*)\)", bare)
    bare = re.sub(r"\b(by|without|on)\s*\([^)]*\)", " ", bare)
    bare = re.sub(r"\[[^\]]*\]", " ", bare)
    for name in sorted(set(re.findall(r"[a-z_:][a-z0-9_:]*", re.sub(r"\b[0-9.e+]+\b", " ", bare)))):
        metric = metric_of(name, metrics)
        if metric:
            known |= OF_PROMETHEUS.get(metric) or metrics[metric][1]
        elif name not in WORDS:
            faults.append(f"{name} is neither a metric of docs/reference/metrics.md nor a known function")
    for name, matchers in selectors:
        metric = metric_of(name, metrics)
        labels = set(re.findall(r"([a-z_]+)\s*(?:=~|!~|!=|=)", matchers))
        allowed = OF_EVERY_SERIES | {"le"} | (metrics[metric][1] if metric in metrics else set())
        faults += [f"{name} has no label {label}" for label in sorted(labels - allowed)]
    for group in grouped:
        faults += [f"no metric of the expression has the label {label}"
                   for label in sorted(set(re.findall(r"[a-z_]+", group)) - known)]
    return faults


def metric_of(name, metrics):
    """Returns the metric to which a series belongs, or None."""
    if name in OF_PROMETHEUS:
        return name
    if name in metrics:
        # A histogram has no series of its own name.
        return None if metrics[name][0].startswith("histogram") else name
    for suffix in SUFFIXES:
        base = name.removesuffix(suffix)
        if base != name and base in metrics and metrics[base][0].startswith("histogram"):
            return base
    return None


def source_faults():
    """Compares the metrics of the server with those in its source, in both directions."""
    text = "".join(path.read_text() for path in sorted((ROOT / "crates/memory-server/src").rglob("*.rs")))
    in_source = set(re.findall(r'(?:counter|histogram|gauge)!\(\s*"([a-z_]+)"', text))
    in_source |= set(re.findall(r'\("(memory_[a-z_]+)", "[a-z]+", [a-z_]+\)', text))
    of_others = ("memory_engine_",)
    in_page = {name for name in documented() if not name.startswith(of_others)}
    faults = [f"docs/reference/metrics.md lacks {name} of the server" for name in sorted(in_source - in_page)]
    return faults + [f"the server has no metric {name}" for name in sorted(in_page - in_source)]

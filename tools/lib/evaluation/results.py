# SPDX-License-Identifier: LGPL-2.1-or-later
"""From the files of jobs to what report and comparison are made of: experiments with rows of figures."""

import pathlib
import platform
import shlex
import subprocess
import time

import plan
import report
import runner

LIMIT = "limit"
BASE = "stock"
PLAIN_COLUMNS = 8       # of a document that says nothing of its columns


class ResultsError(Exception):
    """A directory that holds no results; the text says which."""


def read_jobs(directory):
    """The results in the directory, in the order of the experiments."""
    jobs = pathlib.Path(directory) / "jobs"
    if not jobs.is_dir():
        raise ResultsError(f"{directory} holds no results of tools/bench (there is no {jobs})")
    order = {name: i for i, name in enumerate(plan.report_order())}
    found = [result for result in map(runner.read_json, sorted(jobs.glob("*.json"))) if result]
    if not found:
        raise ResultsError(f"{directory} holds no result yet")
    return sorted(found, key=lambda result: (order.get(result["job"], len(order)), result["job"]))


def cost_document(figures):
    """Those of "tools/vm cost": a row for the stock kernel, one for each policy, a column for each kind of read."""
    kinds = list(dict.fromkeys(key.split("/", 1)[1] for key in figures["stock"]))
    rows = {BASE: {kind: figures["stock"][f"none/{kind}"] for kind in kinds}}
    for key, values in figures["product"].items():
        policy, kind = key.split("/", 1)
        rows.setdefault("no policy" if policy == "none" else policy, {})[kind] = values
    titles = [(kind, kind.replace("/", ", ") + " thread(s)") for kind in kinds]
    return {
        "title": "what a policy costs", "columns": [(kind, title, 0) for kind, title in titles],
        "description": "instructions of a 4 KiB read, beside the stock kernel of the same configuration",
        "ratios": titles, "more_is_better": [],
        "medians": {name: {**{kind: report.median(values) for kind, values in row.items()},
                           "spread": {kind: report.spread(values) for kind, values in row.items()}}
                    for name, row in rows.items()}}


def flat(row, beginning=""):
    """The numbers of a row, those of objects in it by both names."""
    numbers = {}
    for key, value in row.items():
        if report.is_number(value):
            numbers[beginning + key] = value
        elif isinstance(value, dict) and not beginning:
            numbers.update(flat(value, f"{key} "))
    return numbers


def document_of(result):
    """In the form of report.reporter(). Others may lack columns, have rows that are no medians, and figures of papers
    that are no ratios, which are then told below the table."""
    document = result["document"]
    if set(document) == {"stock", "product"}:
        return cost_document(document)
    document = dict(document.get(result["experiment"], document))
    if "medians" not in document:
        document["medians"] = {name: flat(row) for name, row in document.get("results", {}).items()}
    paper = document.get("paper") or {}
    if not isinstance(paper, dict) or not all(isinstance(values, dict) for values in paper.values()):
        document["paper"], document["paper_note"] = {}, paper
    return document


def columns_of(document):
    if "columns" in document:
        return [tuple(column) for column in document["columns"]]
    first = next(iter(document["medians"].values()), {})
    keys = [key for key, value in first.items() if report.is_number(value)]
    digits = {key: 0 if first[key] == int(first[key]) else 2 if abs(first[key]) >= 1 else 4 for key in keys}
    return [(key, key.replace("_", " "), digits[key]) for key in keys[:PLAIN_COLUMNS]]


def row_of(name, summary, columns, ratios, base, paper):
    spread = summary.get("spread", {})
    return {
        "name": name,
        "values": {key: {"median": summary[key], "spread": spread.get(key)} for key, _, _ in columns
                   if summary.get(key) is not None},
        "ratios": {key: summary[key] / base[key] for key, _ in ratios
                   if summary.get(key) is not None and base.get(key)},
        "paper": {key: value for key, value in (paper or {}).items() if value}}


def experiment_of(result):
    document = document_of(result)
    section = plan.section_of(result["experiment"])
    columns, medians = columns_of(document), document["medians"]
    base_name = document.get("base", BASE)
    base = medians.get(base_name, {})
    ratios = [tuple(pair) for pair in document.get("ratios", [])] if base else []
    rows = [row_of(name, summary, columns, ratios, base, document.get("paper", {}).get(name))
            for name, summary in medians.items()]
    if LIMIT in document:
        # beside what the disk gave in that very run
        found = document[LIMIT]
        figures = found.get("figures", {})
        rows.append(row_of(LIMIT, {**figures, "disk_mib": found["disk_mib"], "cache_mib": found["cache_mib"]}, columns,
                           ratios, {**{key: base.get(key) for key in figures},
                                    "disk_mib": found["recorded_disk_bytes"] / report.MIB}, None))
    host = result["job"].endswith("@host")
    return {
        "name": result["job"], "experiment": result["experiment"], "section": section.title, "source": section.paper,
        "title": document.get("title", result["experiment"]) + (", time of the host" if host else ""),
        "description": document.get("description", ""), "laboratory": not host,
        "command": shlex.join(word for word in result["command"] if word != "--trace" and not word.startswith("{")
                              and word != "--output"),
        "repetitions": result["repetitions"], "seconds": result["seconds"], "finished": result["finished"],
        "model": result["document"].get("model"), "kernel": result["document"].get("kernel"),
        "sources": result["key"], "columns": columns, "base": base_name,
        "ratios": ratios,
        "more_is_better": list(document.get("more_is_better", [])), "rows": rows,
        "paper_note": document.get("paper_note"), "limit": document.get(LIMIT),
        "curves": {name: repetitions[0]["curve"] for name, repetitions in document.get("repetitions", {}).items()
                   if repetitions[0].get("curve")},
        "goals": result["document"].get("goals", [])}


def output_of(*command):
    try:
        return subprocess.run(command, cwd=plan.TOP, check=True, text=True, capture_output=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def host_facts():
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    models = [line.partition(":")[2].strip() for line in cpuinfo.splitlines() if line.startswith("model name")]
    release = pathlib.Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
    release = dict(line.split("=", 1) for line in release if "=" in line)
    return {"processor": models[0] if models else platform.machine(), "processors": len(models),
            "system": release.get("PRETTY_NAME", "").strip('"'), "kernel": platform.release(),
            "sources": output_of("git", "describe", "--always", "--dirty")}


def read(directory):
    experiments = [experiment_of(result) for result in read_jobs(directory)]
    keys = {experiment["sources"] for experiment in experiments} - {None}
    return {"made": time.strftime("%Y-%m-%d %H:%M:%S %Z"), "host": host_facts(), "versions": len(keys),
            "seconds": sum(experiment["seconds"] for experiment in experiments), "experiments": experiments}


def read_kept(place):
    """Of the results in a directory, or what read() gave when the report.json there was made."""
    if not pathlib.Path(place).is_file():
        return read(place)
    kept = runner.read_json(pathlib.Path(place))
    if not isinstance(kept, dict) or "experiments" not in kept:
        raise ResultsError(f"{place} is no report of tools/bench")
    return kept

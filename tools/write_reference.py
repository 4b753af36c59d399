#!/usr/bin/env python3
"""Writes the reference pages from the binary's own answers. usage: write_reference.py NEUROLENS OUT_DIR"""
import json
import pathlib
import subprocess
import sys

binary, out = sys.argv[1], pathlib.Path(sys.argv[2])


def answer(*words):
    return subprocess.run([binary, *words], check=True, capture_output=True, text=True).stdout


def tables_page():
    lines = ["# Tables", "", "Written by tools/generate-docs from src/model/tables.def.", ""]
    for table in json.loads(answer("schema", "--json"))["data"]["tables"]:
        lines += [f"## {table['name']} ({table['kind']})", "", table["doc"], "", "| column | type | unit | meaning |",
                  "|---|---|---|---|"]
        lines += [f"| {c['name']} | {c['type']} | {c['unit']} | {c['doc']} |" for c in table["columns"]]
        lines.append("")
    return "\n".join(lines)


def cli_page():
    lines = ["# Command line", "", "Written by tools/generate-docs from the registry of operations.", ""]
    lines += ["```", answer("--help").rstrip(), "```", ""]
    for verb in json.loads(answer("schema", "operations", "--json"))["data"]["operations"] + ["completion"]:
        lines += [f"## {verb}", "", "```", answer(verb, "--help").rstrip(), "```", ""]
    lines += ["## Exit codes", "", "| code | meaning |", "|---|---|", "| 0 | fine |",
              "| 1 | a gate failed: `verify`, `report --verify`, `compare --gate`; a claim of `bench run` is not met; "
              "a job of `queue run` failed |",
              "| 2 | bad usage or bad input |",
              "| 3 | a needed device, permission, tool or service is missing |", "| 70 | a bug in neurolens |",
              "| 75 | this machine is unfit to measure on: `bench run` |",
              "| 130 | stopped by Ctrl-C |", ""]
    return "\n".join(lines)


def metrics_page():
    data = json.loads(answer("metrics", "--json"))["data"]
    lines = ["# Metrics", "", "Written by tools/generate-docs from src/analyze/metrics/metrics.def.", "",
             "Every value is for one device of one rank in one window, in integer nanoseconds where its unit is ns. A value",
             "that cannot be known is absent and says why; whatever is computed from it is absent for the same reason. The",
             "version counts changes of the formula. *lower*, *higher*: what is better.", ""]
    section = None
    for metric in data["metrics"]:
        if metric["section"] != section:
            section = metric["section"]
            lines += ["", f"## {section}", "", "| id | unit | of | better | formula | from |", "|---|---|---|---|---|---|"]
        direction = "" if metric["direction"] == "none" else metric["direction"]
        lines.append(f"| `{metric['id']}` v{metric['version']} | {metric['unit']} | {metric['of']} | {direction} | "
                     f"{metric['formula']} | {metric['source']} |")
    lines += ["", "## Idle causes", "", "Each moment in which nothing ran on a device has one cause; in this order of meaning:", "",
              "| cause | metric | meaning |", "|---|---|---|"]
    lines += [f"| {c['name']} | `{c['metric']}` | {c['doc']} |" for c in data["idle_causes"]]
    lines += ["", "## Classes of kernels and ops", "", "| class | what belongs to it |", "|---|---|"]
    lines += [f"| {c['name']} | {c['doc']} |" for c in data["classes"]]
    return "\n".join(lines) + "\n"


def rule_lines(rule):
    lines = ["", f"## {rule['id']}", "", f"**{rule['title']}**: version {rule['version']}, {rule['confidence']} confidence", "",
             "```text", rule["condition"], "```", ""]
    lines += [f"- {e['text']} `{e['of']}`" for e in rule["evidence"]]
    lines.append("")
    for suggestion in rule["suggestions"]:
        gain = suggestion["gain"] and f" Gain{' at most' if suggestion['at_most'] else ''}: `{suggestion['gain']}`"
        lines.append(f"{suggestion['suggestion']}. {suggestion['text']}{gain or ''}")
    lines += ["", f"At stake: `{rule['at_stake']}`."] if rule.get("at_stake") else []
    lines += ["", "Read: " + ", ".join(f"<{url}>" for url in rule["references"])] if rule["references"] else []
    return lines


def rules_page():
    ids = [rule["id"] for rule in json.loads(answer("rules", "--json"))["data"]["rules"]]
    rules = [json.loads(answer("rules", "show", id, "--json"))["data"]["rule"] for id in ids]
    lines = ["# Rules", "", "Written by tools/generate-docs from rules/*.yaml.", "",
             "A rule makes a finding where its condition holds. The names in it are [metrics](metrics.md); a rule abstains if one of",
             "them is absent. Below each condition stand the evidence that a finding shows, and what it suggests. Why the thresholds",
             "are as they are is in the first lines of each file; what fires on recorded profiles is in",
             "[findings](analysis/findings.md).", "", "| rule | says |", "|---|---|"]
    lines += [f"| [{rule['id']}](#{rule['id']}) | {rule['title']} |" for rule in rules]
    return "\n".join(lines + [line for rule in rules for line in rule_lines(rule)]) + "\n"


TYPED = ["analyze", "compare", "live", "note", "outliers", "similar", "system", "timeline", "trend"]


def answers_of_pages():
    """OpenAPI with nothing but the answers that pages of the web UI have types of; the schemas of others name few of their fields."""
    schemas: dict[str, dict] = {}
    for operation in TYPED:
        text = answer("schema", "print", operation).replace("#/definitions/", f"#/components/schemas/{operation}_")
        data = json.loads(text)["properties"]["data"]
        schemas |= {f"{operation}_{name}": schema for name, schema in data.pop("definitions", {}).items()}
        schemas[operation] = data
    info = {"title": "Answers", "version": "1"}
    return json.dumps({"openapi": "3.1.0", "info": info, "paths": {}, "components": {"schemas": schemas}})


(out / "answers.openapi.json").write_text(answers_of_pages())
(out / "rules.md").write_text(rules_page())
(out / "metrics.md").write_text(metrics_page())
(out / "tables.md").write_text(tables_page())
(out / "cli.md").write_text(cli_page())
(out / "run_file.schema.json").write_text(answer("schema", "print", "run-file"))

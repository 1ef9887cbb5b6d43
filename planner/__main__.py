"""The command line: JSON on standard output; one line on standard error and exit status 2 for bad input."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from planner.errors import PlannerError


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise PlannerError(f"{message}. See `{self.prog} --help`.")


def _read(path: str) -> str:
    """The text of a file, or standard input for "-". Raises PlannerError."""
    if not path:
        raise PlannerError('The path of a file is empty. Give the name of a file, or "-" for standard input.')
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise PlannerError(f"{path} cannot be read ({error.strerror}). Check the path.") from None
    except ValueError as error:
        if not isinstance(error, UnicodeDecodeError):  # a NUL in the path
            raise PlannerError(f"{path!r} is no path. Check the path.") from None
        what = "standard input" if path == "-" else path
        raise PlannerError(f"{what} is not a text file; expected JSON or CSV in UTF-8.") from None


def _plain(value: Any) -> Any:
    """Numbers as JSON allows them: whole floats stay floats, what is not finite becomes null."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _print(value: Any, indent: int | None = 1) -> None:
    text = json.dumps(_plain(value), indent=indent, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(_plain(value), indent=indent, allow_nan=False)
    print(text)


def _inspect(options: argparse.Namespace) -> int:
    from planner.architecture import read_config
    from planner.inspect import inspect

    beside = _read(options.hf_quant_config) if options.hf_quant_config is not None else None
    many = len(options.files) > 1
    failed = False
    for file in options.files:
        try:
            name = Path(file).stem if file != "-" else None
            answer = inspect(read_config(_read(file), name=name, hf_quant_config=beside))
            _print({"file": file, **answer} if many else answer, None if many else 1)
        except PlannerError as error:
            if not many:
                raise
            failed = True
            _print({"file": file, "error": str(error)}, None)
    if failed:
        print("Some files could not be read as models; see their `error`.", file=sys.stderr)
    return 2 if failed else 0


def _devices(_: argparse.Namespace) -> int:
    from planner.devices import load_devices

    _print([_device(d) for d in load_devices()])
    return 0


def _device(d: Any) -> dict[str, Any]:
    return {
        "id": d.id, "name": d.name, "label": d.label, "vendor": d.vendor, "kind": d.kind, "year": d.year,
        "memory_bytes_usable": d.memory_bytes_usable, "memory_derived": d.memory_derived,
        "bandwidth_bytes_per_s": d.bandwidth, "flop_per_s": dict(d.peaks), "tdp_w": d.tdp_w,
        "price_usd_per_hour": d.price_usd_per_hour, "price_date": d.price_date, "confidence": d.confidence,
        "source": d.source, "notes": d.notes,
    }  # fmt: skip




def _scenario(options: argparse.Namespace) -> tuple[Any, list[str]]:
    """The scenario that the flags, a link or a scenario file describe, and notes about it."""
    from planner.scenario import CUSTOM, DEFAULTS, Scenario
    from planner.share import read_link

    given = {name: getattr(options, name) for name in DEFAULTS if name != "config"}
    flags = {name: value for name, value in given.items() if value is not None}
    _refuse_contradictions(options, flags)
    notes: list[str] = []
    if options.link is not None:
        base, notes = read_link(options.link)
        start = base.model_dump()
    elif options.scenario is not None:
        start = _scenario_file(options.scenario)
    else:
        start = {}
    if options.config is not None:
        from planner.architecture import read_config

        beside = _read(options.hf_quant_config) if options.hf_quant_config is not None else None
        name = flags.get("model") or (Path(options.config).stem if options.config != "-" else None)
        arch = read_config(_read(options.config), name=name, hf_quant_config=beside)
        start |= {"config": arch.config, "model": arch.name}
        flags.pop("model", None)
    elif "model" in flags:
        start["config"] = None
    if "rate" in flags or "users" in flags:
        start["load"] = "open" if "rate" in flags else "closed"
    scenario = Scenario.of(**(start | flags))
    typed_in = [f"--{name.replace('_', '-')}" for name in flags if name.startswith("device_")]
    if typed_in and scenario.device != CUSTOM:
        raise PlannerError(f"{typed_in[0]} describes a typed-in device. Give --device custom, or leave it out.")
    if scenario.shared_prefix < flags.get("shared_prefix", 0):
        notes.append(
            f"--shared-prefix {flags['shared_prefix']:g} is cut to {scenario.shared_prefix}: the last token of a "
            "prompt is always computed."
        )
    return scenario, notes


def _refuse_contradictions(options: argparse.Namespace, flags: dict[str, Any]) -> None:
    if options.link == "":
        raise PlannerError("--link is empty; expected a link of the planner, or its query.")
    if options.link is not None and options.scenario is not None:
        raise PlannerError("--link and --scenario exclude each other: both give every choice. Give one, and flags.")
    if options.hf_quant_config is not None and options.config is None:
        raise PlannerError("--hf-quant-config stands beside a config.json. Give that too, with --config.")
    if "rate" in flags and "users" in flags:
        raise PlannerError(
            "--users and --rate exclude each other: conversations at once, or arrivals per second. Give one."
        )
    if {"closed": "rate", "open": "users"}.get(flags.get("load", "")) in flags:
        raise PlannerError("--load closed goes with --users, --load open with --rate. Correct one of the two.")


def _scenario_file(path: str) -> dict[str, Any]:
    again = "Save it again with the page's download button."
    try:
        data = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        if isinstance(error, PlannerError):
            raise
        raise PlannerError(f"The scenario file {path} is not JSON. {again}") from None
    if isinstance(data, dict) and isinstance(data.get("scenario"), dict):
        data = data["scenario"]
    if not isinstance(data, dict):
        raise PlannerError(f"The scenario file {path} is not an object in braces. {again}")
    return {k: v for k, v in data.items() if k != "v"}


def _plan(options: argparse.Namespace) -> int:
    from planner.findings import findings
    from planner.plan import plan
    from planner.plan_json import as_dict
    from planner.share import link

    scenario, notes = _scenario(options)
    for note in notes:
        print(note, file=sys.stderr)
    done = plan(scenario)
    _print(as_dict(done, link(scenario), [f.as_dict() for f in findings(done)]))
    return 0


# Four months: longer than any server runs between two scrapes that are compared.
_LONGEST_SECONDS = 1e7


def _measure(options: argparse.Namespace) -> int:
    from dataclasses import asdict

    from planner.measurements import read

    second = _read(options.second) if options.second is not None else None
    if options.seconds is not None and not 0 < options.seconds <= _LONGEST_SECONDS:
        raise PlannerError(
            f"--seconds {options.seconds:g} is no time between two scrapes; expected more than 0 and at most "
            f"{_LONGEST_SECONDS:g} seconds."
        )
    measured = read(_read(options.file), second, options.seconds)
    answer = asdict(measured)
    if _scenario_given(options):
        from planner.checking import compare
        from planner.plan import plan

        scenario, notes = _scenario(options)
        for note in notes:
            print(note, file=sys.stderr)
        answer["comparison"] = compare(measured, plan(scenario)).as_dict()
    _print(answer)
    return 0


def _scenario_given(options: argparse.Namespace) -> bool:
    """Whether any flag describes a scenario, or a part of one."""
    from planner.scenario import DEFAULTS

    names = ("config", "hf_quant_config", "link", "scenario", *DEFAULTS)
    return any(getattr(options, name) is not None for name in names)


def _validate(options: argparse.Namespace) -> int:
    from planner.validate import read_rows, validate

    rows = read_rows(_read(options.file))
    _print(validate(rows, options.configs) if options.configs is not None else validate(rows))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m planner", description="What-if planner for serving large language models.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    inspect = commands.add_parser("inspect", help="what a config.json says about its model")
    inspect.add_argument("files", nargs="+", metavar="CONFIG.json", help='"-" reads standard input')
    inspect.add_argument("--hf-quant-config", metavar="FILE", help="the hf_quant_config.json beside it")
    inspect.set_defaults(run=_inspect)
    commands.add_parser("devices", help="the device table").set_defaults(run=_devices)
    plan = commands.add_parser("plan", help="what a scenario needs and gives")
    _add_scenario(plan)
    plan.set_defaults(run=_plan)
    measure = commands.add_parser("measure", help="what a tool measured; with a scenario, beside what it should")
    measure.add_argument("file", metavar="FILE", help='"-" reads standard input')
    measure.add_argument("second", nargs="?", metavar="SECOND", help="a later scrape of the same server's /metrics")
    measure.add_argument("--seconds", type=float, help="seconds between the two scrapes, where they do not say it")
    _add_scenario(measure)
    measure.set_defaults(run=_measure)
    validate = commands.add_parser("validate", help="predicted beside measured, for each row of a file")
    validate.add_argument("file", metavar="FILE.csv")
    validate.add_argument("--configs", metavar="DIR", help="folder of the configs that rows name")
    validate.set_defaults(run=_validate)
    return parser


def _add_scenario(parser: argparse.ArgumentParser) -> None:
    """The flags that describe a scenario."""
    from planner.scenario import Scenario

    parser.add_argument("--config", metavar="FILE", help='a config.json; "-" reads standard input')
    parser.add_argument("--hf-quant-config", metavar="FILE", help="the hf_quant_config.json beside it")
    parser.add_argument("--link", metavar="URL", help="a link of the planner, or its query; flags override it")
    parser.add_argument("--scenario", metavar="FILE", help="a saved scenario; flags override it")
    for name, field in Scenario.model_fields.items():
        if name != "config":
            _add_flag(parser, name, field)


def _add_flag(parser: argparse.ArgumentParser, name: str, field: Any) -> None:
    from planner.scenario import kind

    flag = "--" + name.replace("_", "-")
    if kind(name) is bool:
        either = argparse.BooleanOptionalAction
        parser.add_argument(flag, dest=name, action=either, default=None, help=field.description)
        return
    take = _number(name) if kind(name) in (int, float) else str
    parser.add_argument(flag, dest=name, type=take, default=None, metavar=name.upper(), help=field.description)


def _number(name: str) -> Callable[[str], float]:
    from planner.scenario import expected

    def take(text: str) -> float:
        try:
            return float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text[:40]!r} found, {expected(name)} expected") from None

    return take


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    try:
        options = _parser().parse_args(arguments)
        return int(options.run(options))
    except PlannerError as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader has gone, as with `| head`; without this the interpreter complains when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(main())
